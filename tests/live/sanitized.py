# SPDX-License-Identifier: Apache-2.0
"""Tests that are impossible if jescope was built with a sanitizer."""

import pytest
from services import SANITIZED

preloadable = pytest.mark.skipif(SANITIZED, reason="a sanitized jescope cannot be preloaded into: its runtime insists on being first")
renders = pytest.mark.skipif(SANITIZED, reason="a sanitized jescope reserves more address space than a child of a route is given")
