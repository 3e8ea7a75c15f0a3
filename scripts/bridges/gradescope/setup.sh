#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image: the project or the package, with what it needs to judge.
set -euo pipefail
cd "${AUTOGRADER_ROOT:-/autograder}/source/warpgrade"
apt-get update -qq
packages=(ca-certificates make openssh-client python3 python3-venv)
if [[ -x bin/warpgrade ]]; then packages+=(binutils g++); fi
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
if [[ -x bin/warpgrade ]]; then
  WARPGRADE_CACHE_FOLDER=$PWD/.cache scripts/bootstrap judge oracle
else
  make build
fi
