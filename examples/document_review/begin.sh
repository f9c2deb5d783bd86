#!/bin/sh
# Puts the proposal under version control, in a repository of its own beside this script.
set -eu
cd "$(dirname "$0")"
rm -rf proposal
git init --quiet proposal
cp proposal.md proposal/
cd proposal
git config user.name author
git config user.email author@example.org
git add proposal.md
git commit --quiet --message "First draft"
