#!/bin/sh
# Installs what the full test set needs from the system when it is missing and we are allowed to (root, with apt).
# What cannot be had here is named; the tests that need it then fail and say so themselves.
set -u
missing=
have() { command -v "$1" >/dev/null 2>&1; }
have chromium || have chromium-browser || have google-chrome || missing="$missing chromium"
have go || missing="$missing golang-go"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! have apt-get; then
    echo "setup: the full test set also needs:$missing (apt-get install$missing)" >&2
    exit 0
fi
echo "setup: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq </dev/null >/dev/null 2>&1
# shellcheck disable=SC2086
apt-get install -qq -y --no-install-recommends $missing </dev/null >/dev/null 2>&1 ||
    echo "setup: apt-get could not install$missing" >&2
exit 0
