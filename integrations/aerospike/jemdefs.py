# SPDX-License-Identifier: Apache-2.0
"""What scripts beside Aerospike's jemabs, jemdel and jemeff get with `from jemdefs import *`.

The load() of a jemdata.py, called with arenas, total, active and mapped, fills `table`: of each iteration the arenas, of each arena its
values in bytes. Runs with Python 3 and 2.
"""

import sys

# A data module is looked for in the current directory first.
sys.path.insert(0, '.')

one_kay = 1 << 10
one_meg = 1 << 20
one_gig = 1 << 30

table = {}  # iteration -> {'sum' or arena -> {'total', 'active', 'mapped' -> bytes}}
i = -1  # the iteration that is being loaded
j = None  # and its arena


def _number(value):
    """As Python 2 prints it: 12 significant digits, and a float is told from an integer."""
    if not isinstance(value, float):
        return str(value)
    text = '%.12g' % value
    return text if set(text) & set('.en') else text + '.0'


def readable(sz):
    """Bytes in the largest binary unit that they fill; integers are rounded down."""
    for unit, name in ((one_gig, ' GB'), (one_meg, ' MB'), (one_kay, ' KB')):
        if abs(sz) >= unit:
            return _number(sz / unit if isinstance(sz, float) else sz // unit) + name
    return _number(sz) + ' B'


def pct(n, d):
    """N as a percentage of D, cut after two decimals."""
    return _number(int(10000 * (n / d)) / 100.0) + '%'


def arenas(name):
    """Begins an arena; 'sum' begins an iteration as well."""
    global i, j
    if name == 'sum':
        i += 1
        table[i] = {}
    j = name if name == 'sum' else int(name)
    table[i][j] = {}


def _setter(metric):
    def take(val):
        table[i][j][metric] = int(val)
    return take


total, active, mapped = (_setter(metric) for metric in ('total', 'active', 'mapped'))
