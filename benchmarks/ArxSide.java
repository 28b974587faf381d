import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.EntropyLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/** ARX at the tasks of our benchmarks: reads a table, finds the optimum, writes the output. */
public final class ArxSide {
    /**
     * Table, folder of hierarchies, output, columns with commas between, sensitive column or "-",
     * k, share of rows that may be left out, "distinct" or "entropy", l or 0.
     */
    public static void main(String[] said) throws Exception {
        Data data = Data.create(new File(said[0]), StandardCharsets.UTF_8, ';');
        for (String name : said[3].split(",")) {
            File levels = new File(said[1], name + ".csv");
            data.getDefinition().setAttributeType(name, Hierarchy.create(levels, StandardCharsets.UTF_8, ';'));
        }
        ARXConfiguration asked = ARXConfiguration.create();
        asked.addPrivacyModel(new KAnonymity(Integer.parseInt(said[5])));
        if (!said[4].equals("-")) {
            data.getDefinition().setAttributeType(said[4], AttributeType.SENSITIVE_ATTRIBUTE);
            double l = Double.parseDouble(said[8]);
            asked.addPrivacyModel(said[7].equals("entropy")
                ? new EntropyLDiversity(said[4], l) : new DistinctLDiversity(said[4], (int) l));
        }
        asked.setSuppressionLimit(Double.parseDouble(said[6]));
        asked.setQualityModel(Metric.createLossMetric(AggregateFunction.GEOMETRIC_MEAN));
        ARXResult found = new ARXAnonymizer().anonymize(data, asked);
        ARXNode best = found.getGlobalOptimum();
        found.getOutput(best).save(said[2], ';');
        System.err.println(Arrays.stream(said[3].split(","))
            .map(name -> "" + best.getGeneralization(name)).collect(Collectors.joining(",")));
        System.err.println(best.getHighestScore());
    }
}
