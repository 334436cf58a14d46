"""/etc/ld.so.preload, in a system of its own: how in, what it does, and how out again."""

import page
from root import LIBRARY, inside

IN = page.block("install -m 644 libfp32shim.so")
POLICY = page.block("install -D -m 644 policy.toml")
OUT = page.block("sed -i ")
MODEL = "python3 /srv/model.py < /dev/null"
PRODUCT = "product 131072"
# The library lies in /tmp, as if it had been unpacked there.
BEGIN = f"cd /tmp; mv {LIBRARY} .\n{IN}\n"


def test_every_program_is_reached_also_setuid_ones_and_with_an_empty_environment():
    lines = inside(BEGIN + f"""
        cd /srv/deploy
        {POLICY}
        env -i {MODEL}
        busybox sh -c '{MODEL}'
        su user -c '{MODEL}'
        echo 'user ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/user; su user -c 'sudo {MODEL}'
        ls /var/log/fp32shim | wc -l
        mount -t tmpfs tmpfs /mnt; cp /bin/sleep /mnt/setuid; chmod 4755 /mnt/setuid
        su user -c '/mnt/setuid 5' & sleep 1; grep -l fp32shim /proc/$(pgrep -x setuid)/maps | wc -l""")
    assert lines[-6:] == [PRODUCT] * 4 + ["4", "1"]


def test_the_pages_way_out_leaves_nothing():
    lines = inside(f"""
        printf /usr/lib/x86_64-linux-gnu/libm.so.6 > /etc/ld.so.preload
        {BEGIN}
        {OUT}
        cat /etc/ld.so.preload; ls /usr/local/lib/*.so 2>/dev/null | wc -l; {MODEL}""")
    assert lines == ["/usr/lib/x86_64-linux-gnu/libm.so.6", "0", PRODUCT]


def test_a_library_that_fails_its_test_is_not_named():
    for spoil in ("echo text > libfp32shim.so", f"head -c 100000 {LIBRARY} > libfp32shim.so"):
        lines = inside(f"cd /tmp; {spoil}\n{IN}\nls /etc/ld.so.preload || true")
        assert [line for line in lines if "Bus error" not in line] == ["ls: cannot access '/etc/ld.so.preload': No such file or directory"]


def test_a_missing_library_costs_each_program_a_line():
    lines = inside(f"echo /usr/local/lib/missing.so > /etc/ld.so.preload; {MODEL}")
    assert PRODUCT in lines and any("missing.so" in line and "ignored" in line for line in lines)


def test_half_a_library_ends_every_program_and_an_open_shell_mends_it():
    lines = inside(f"""
        head -c 100000 {LIBRARY} > /tmp/half.so; echo /tmp/half.so > /etc/ld.so.preload
        /bin/true || echo status $?
        busybox echo busybox
        : > /etc/ld.so.preload
        {MODEL}""")
    assert [line for line in lines if "Bus error" not in line] == ["status 135", "busybox", PRODUCT]


def test_a_running_program_keeps_the_library_that_is_replaced():
    lines = inside(BEGIN + f"""
        mkfifo in; python3 /srv/model.py < in & exec 9> in; sleep 1
        {IN.replace(">>", ">")}
        echo >&9; exec 9>&-; wait""")
    assert lines == [PRODUCT] * 2
