"""The tracking page: static files, and the headers they must be sent with.

A service sends ``page_files()`` at their paths, each with its headers, and the road map
(``voile.sharing.map.read_map``) at ``map.serving.MAP_PATH`` with ``SECURITY_HEADERS``.  There is
nothing to build: the modules in ``static`` are what browsers run.
"""

from voile.sharing.page.files import (
    CONTENT_SECURITY_POLICY,
    PAGE_PATH,
    SECURITY_HEADERS,
    PageFile,
    page_files,
)

__all__ = [
    "CONTENT_SECURITY_POLICY",
    "PAGE_PATH",
    "SECURITY_HEADERS",
    "PageFile",
    "page_files",
]
