# SPDX-License-Identifier: Apache-2.0
def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="write what jescope says now into the cases")
