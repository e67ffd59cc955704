# SPDX-License-Identifier: Apache-2.0
"""What cannot be tested where jescope itself was built with a sanitizer."""

import pytest
from services import JESCOPE

SANITIZED = b"__asan_init" in JESCOPE.read_bytes()

preloadable = pytest.mark.skipif(SANITIZED, reason="a sanitized jescope cannot be preloaded into: its runtime insists on being first")
renders = pytest.mark.skipif(SANITIZED, reason="a sanitized jescope reserves more address space than a child of a route is given")
