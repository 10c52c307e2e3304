#!/usr/bin/env bash
# Sets up and runs the tests. As root on Debian or Ubuntu it installs the programs that they use; elsewhere it names those that are missing,
# and the tests that need them are skipped. What it is given goes to pytest. DRIFTWATCH_WITH=slurm also wants Slurm, for the tests on a real cluster.
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
  needs strace strace
  needs rpmbuild rpm
  if [[ ",${DRIFTWATCH_WITH:-}," == *,slurm,* ]]; then
    needs slurmctld slurmctld
    needs slurmd slurmd
    needs srun slurm-client
    needs munged munge
  fi
  needs fish fish
  needs tcsh tcsh
  needs nft nftables
  needs ip iproute2
  # The browser that the HTML reports are looked at with; on Ubuntu it is a snap, which is left to people.
  if grep -qx ID=debian /etc/os-release 2>/dev/null && ! has chromium && ! has google-chrome; then missing+=(chromium); fi
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
  local apt=(apt-get -qq -o Acquire::http::Timeout=20)
  {
    "${apt[@]}" update || true
    DEBIAN_FRONTEND=noninteractive "${apt[@]}" -y install --no-install-recommends "${packages[@]}" && return
    local one
    for one in "${packages[@]}"; do  # one that cannot be had must not cost the others
      DEBIAN_FRONTEND=noninteractive "${apt[@]}" -y install --no-install-recommends "$one" || echo "apt-get could not install $one" >&3
    done
  } 3>&2 >/dev/null 2>&1 </dev/null
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
exec .venv/bin/python -m pytest "$@"
