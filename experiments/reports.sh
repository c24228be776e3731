#!/bin/sh
# Makes the reports of the experiments again: each folder's REPORT.md, errors.csv, derived.py, manifest.json and plots.
set -eu
cd "$(dirname "$0")/.."
symderive report derivations/linear_mse.yaml --out experiments/25-autograd-by-hand "$@"
symderive report experiments/two-layers/two_layers.yaml --out experiments/two-layers "$@"
symderive report derivations/linear_cross_entropy.yaml --out experiments/600-classes "$@"
