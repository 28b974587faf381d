/**
 * When a parcel may arrive: an estimate from the straight line to the goal and from usual speeds.
 *
 * It is not calibrated: the interval holds what the model makes of its two inputs, and no share of
 * real arrivals.  The speeds are the operator's guess, one law for all trucks, roads and stops; on
 * real drives the interval held fewer than half (benchmarks/sharing_arrival.py).
 *
 * T = D / V, with D the true remaining distance and V the speed in a straight line, stops included.
 *
 * D.  Published is the distance d from the shown position to the goal.  Where nothing else is known,
 *     the true position lies around the shown one as the noise does: Gaussian of standard deviation
 *     s on each axis.  So D = |(d + s X, s Y)| with X and Y standard normal (Rice's law), and
 *     P(D <= x) = E[Phi((w - d) / s) - Phi((-w - d) / s)] with w = sqrt(x^2 - s^2 Y^2), the mean
 *     over those Y for which w is real.
 * V.  Assumed are its quantiles v5, v50, v95 of 5 %, 50 % and 95 %.  V is taken to be log-normal on
 *     either side of the median: ln V = ln v50 + Z ln(v50 / v5) / 1.645 below it (Z < 0) and
 *     ln v50 + Z ln(v95 / v50) / 1.645 above, Z standard normal.  It has these three quantiles.
 *
 * Hence P(T <= t) = E[P(D <= V t)].  Means over Y and Z are sums; quantiles are found by halving.
 * The uncertainties of both are in it: near the goal that of the distance rules, far away that of the speed.
 * Cost: some 20 ms.
 */

const Z95 = 1.6448536269514722;
const GRID = Array.from({ length: 81 }, (_, at) => (at - 40) / 10);
const DENSITY = GRID.map((z) => Math.exp(-z * z / 2));
const WHOLE = DENSITY.reduce((sum, weight) => sum + weight, 0);
const WEIGHTS = DENSITY.map((weight) => weight / WHOLE);
/** Times to be found are known to one part in 2^24 of the longest. */
const HALVINGS = 24;

/**
 * Seconds after the fix by which the parcel has arrived with 5 %, 50 % and 95 % of the model.
 *
 * `remaining` and `deviation` (s) are in metres; `speeds` are the quantiles of 5 %, 50 % and 95 %,
 * ascending, in km/h.
 */
export function arrival(remaining, deviation, speeds) {
  const [slow, usual, fast] = speeds.map((speed) => speed / 3.6);
  const rates = GRID.map((z) => {
    const ratio = z < 0 ? usual / slow : fast / usual;
    return usual * Math.exp((z * Math.log(ratio)) / Z95);
  });
  const arrived = (t) => mean(rates, (rate) => distanceLaw(rate * t, remaining, deviation));
  const longest = (remaining + 6 * deviation + 1) / rates[0];
  const [low, middle, high] = [0.05, 0.5, 0.95].map((share) => halved(arrived, share, longest));
  return { low, middle, high };
}

/** P(D <= x) where the distance d was published, with s. */
function distanceLaw(x, d, s) {
  if (!(s > 0)) return x >= d ? 1 : 0;
  // Beyond these the law is 0 or 1, to four digits.
  if (x >= d + 6 * s) return 1;
  if (x <= d - 6 * s) return 0;
  // Y and -Y give the same: half of the grid, its middle counted once.
  return WEIGHTS.slice(40).reduce((sum, weight, at) => {
    const square = x * x - (s * GRID[40 + at]) ** 2;
    if (square <= 0) return sum;
    const w = Math.sqrt(square);
    return sum + (at ? 2 : 1) * weight * (normal((w - d) / s) - normal((-w - d) / s));
  }, 0);
}

const mean = (values, of) => values.reduce((sum, value, at) => sum + WEIGHTS[at] * of(value), 0);

/** Phi, by Abramowitz and Stegun, 7.1.26: off by 1e-7 at most. */
function normal(x) {
  const u = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * u);
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const tail = (series.reduce((sum, factor) => sum * t + factor, 0) * t * Math.exp(-u * u)) / 2;
  return x < 0 ? tail : 1 - tail;
}

function halved(rising, share, longest) {
  let [low, high] = [0, longest];
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = (low + high) / 2;
    if (rising(middle) < share) low = middle;
    else high = middle;
  }
  return high;
}
