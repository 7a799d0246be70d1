# Sourced by quickstart.sh and test.sh: finds the source tree, installs missing Debian packages, configures and builds.
# Works as root and, with sudo, as a user; needs no terminal and asks nothing.

lamina_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

lamina_packages=(
  g++ cmake ninja-build pkg-config git
  libsimgrid-dev libboost-graph-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
  libexpected-dev libprotobuf-dev protobuf-compiler zlib1g-dev rapidjson-dev libsqlite3-dev iproute2
  libdnnl-dev libopenblas-pthread-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)

lamina_say() { printf '==> %s\n' "$*" >&2; }

lamina_fail() {
  printf 'error: %s\n' "$*" >&2
  exit 6
}

# Prints the packages of the list that are not installed, one per line.
lamina_missing_packages() {
  local package
  for package in "${lamina_packages[@]}"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

# Installs what is missing, and touches apt only then.
lamina_install_packages() {
  command -v dpkg-query >/dev/null || lamina_fail "this script needs Debian 12 or a system like it (no dpkg-query found);" \
    "elsewhere, install the equivalents of: ${lamina_packages[*]}"
  local missing
  mapfile -t missing < <(lamina_missing_packages)
  if [ ${#missing[@]} -eq 0 ]; then
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || lamina_fail "these packages are missing and neither root nor sudo is available:" \
      "${missing[*]}"$'\n'"       ask an administrator to run: apt-get install ${missing[*]}"
    as_root=(sudo)
    if [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then  # nobody is there to type a password
      lamina_fail "sudo asks for a password and there is no terminal; run: sudo apt-get install ${missing[*]}"
    fi
  fi
  lamina_say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q </dev/null >&2 || lamina_fail "apt-get update failed"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" \
    </dev/null >&2 || lamina_fail "apt-get could not install ${missing[*]}"
}

# lamina_build [target...]: configures the release preset if needed and builds; all output on stderr.
lamina_build() {
  local options=(-DLAMINA_WITH_ONEDNN=ON -DLAMINA_WITH_OPENBLAS=ON)  # their packages are in the list: no test is skipped
  local targets=()
  if command -v ccache >/dev/null; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cd "$lamina_root"
  lamina_say "configuring build/release"
  cmake --preset release "${options[@]}" </dev/null >&2
  lamina_say "building"
  if [ $# -gt 0 ]; then
    targets=(--target "$@")
  fi
  cmake --build --preset release "${targets[@]}" </dev/null >&2
}
