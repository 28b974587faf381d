"""(k,e)-anonymity: blocks of rows whose sensitive values are permuted within the block.

- ``publisher``   the publisher: its parameters, its guarantee, and how a release is made
- ``statement``   the guarantee in words, also of persons with several rows, and what waits
- ``decision``    from counts and history to blocks, whatever the search, the source's included
- ``searches``    the optima of one release and of a series, by one dynamic programme
"""

from voile.publish.ke_anonymity.publisher import KEAnonymity

__all__ = ["KEAnonymity"]
