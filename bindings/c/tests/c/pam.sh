#!/bin/sh
#
# A login and a change of password by pam_unix, with the shim before its libcrypt.
#
#     unshare --map-root-user --mount sh pam.sh FOLDER SHIM
#
# /etc is FOLDER/etc here, and nowhere else: with a table of its own, and nothing else that PAM reads.

set -eu
etc=$1/etc shim=$2
mkdir -p "$etc/pam.d"
cp -r /etc/ld.so.cache /etc/nsswitch.conf /etc/security "$etc"
cat >"$etc/pam.d/saltern-test" <<END
auth required pam_unix.so
account required pam_permit.so
password required pam_unix.so yescrypt
END
echo 'alice:x:1000:1000::/nonexistent:/bin/false' >"$etc/passwd"
# What the machine's own libcrypt has made, of the password "first secret".
echo "alice:$(echo 'first secret' | mkpasswd -s -m yescrypt):19000:0:99999:7:::" >"$etc/shadow"
mount --bind "$etc" /etc

# with LIBRARY WHAT: what pamtester says in the end to what is typed, with a library before the others.
with() { LD_PRELOAD=$1 pamtester saltern-test alice "$2" 2>&1 | sed -n '$s/.*pamtester: //p'; }

echo 'first secret' | with "$shim" authenticate
echo 'another one' | with "$shim" authenticate
printf 'second secret\nsecond secret\n' | with "$shim" chauthtok
echo 'second secret' | with '' authenticate
cut -d: -f2 "$etc/shadow" | cut -c1-7
# Whose functions pam_unix has called.
echo 'second secret' | LD_DEBUG=bindings LD_PRELOAD=$shim pamtester saltern-test alice authenticate 2>&1 |
    sed -n 's/.*pam_unix.so .* to \(.*\) \[0\]: normal symbol `\(crypt[a-z_]*\).*/\2 of \1/p' | sort
