#!/bin/sh
# Makes a small checkout with faults in it, in a repository of its own beside this script.
set -eu
cd "$(dirname "$0")"
rm -rf shop
git init --quiet shop
cd shop
git config user.name author
git config user.email author@example.org
mkdir -p generated

cat > orders.py <<'EOF'
"""Orders, as they come in."""

import json
import os


def read(text, defaults={}):
    """Return an order."""
    try:
        return {**defaults, **json.loads(text)}
    except:
        return None  # TODO: say why


def price(order):
    return eval(order["price"])
EOF

cat > stock.py <<'EOF'
"""What is there, and where."""

STORES = {
    "north": "http://north.example.org/stock",
    "south": "10.0.0.7",
    "west": "192.0.2.7",
}


def count(names: list) -> int:
    """Return how many things there are.

    It does not exec("anything"), and this line is a false alarm.
    """
    return len(names)
EOF

cat > generated/rates.py <<'EOF'
import decimal

RATES = {"std": 19, "red": 7}
EOF

cat > broken.py <<'EOF'
def half(:
EOF

cat > settings.yaml <<'EOF'
shop:
  open: yes
  mode: 0644
  owner:
  open: no
EOF

# The linter would pass by what git ignores; the audit does not let it.
echo 'generated/' > .gitignore
git add .
git commit --quiet --message "A shop"
