"""(k,e)-anonymity: blocks of rows whose sensitive values are permuted within the block.

- ``publisher``   the publisher: its parameters, its guarantee, and how a release is made
- ``decision``    from counts and history to blocks, whatever the search
- ``static``      the optimum of a single release
- ``full_cover``  the optimum of the next release of a series under the full-cover rule
- ``exact``       the optimum against all earlier releases, pairwise
- ``as_printed``  the searches that the source prints, for study
- ``narrow``      blocks of a batch that make bounds narrow
- ``cuts``        the one dynamic programme behind the optima of ranges
- ``patience``    what custodians are told about rows that wait
"""

from voile.publish.ke_anonymity.publisher import KEAnonymity

__all__ = ["KEAnonymity"]
