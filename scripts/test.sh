#!/usr/bin/env bash
# Sets up and runs the tests. As root on Debian or Ubuntu it installs the programs that they use; elsewhere it names those that are missing,
# and the tests that need them are skipped. What it is given goes to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
has() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ]; }
needs() { has "$1" || missing+=("$2"); }
look() {
  missing=()
  needs sshd openssh-server
  needs ssh openssh-client
  needs git git
  needs gcc gcc
  needs fusermount3 fuse3
  if has gcc && ! echo '#include <stdio.h>' | gcc -E -xc - >/dev/null 2>&1; then missing+=(libc6-dev); fi
}

# While policy-rc.d says 101, no installed service is started.
install_missing() {
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  local packages=("${missing[@]}")
  if [[ " ${packages[*]} " == *" gcc "* ]]; then packages+=(libc6-dev); fi
  { apt-get -qq -o Acquire::http::Timeout=20 update &&
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::http::Timeout=20 install --no-install-recommends "${packages[@]}"; } >/dev/null </dev/null ||
    echo "apt-get could not install: ${packages[*]}" >&2
}

# The folder that a first start of sshd would make, where the tests cannot mount one of their own.
make_run_sshd() {
  if [ "$(id -u)" = 0 ] && has sshd && [ ! -d /run/sshd ] && ! unshare --mount true 2>/dev/null; then mkdir -p -m 755 /run/sshd; fi
}

look
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  (install_missing)
  look
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "missing: ${missing[*]}; the tests that need them are skipped" >&2
fi
make_run_sshd

bash scripts/setup.sh dev
exec .venv/bin/python -m pytest --cov=driftwatch --cov-report=term:skip-covered "$@"
