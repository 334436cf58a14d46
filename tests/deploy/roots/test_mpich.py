"""Ranks of another MPI than Open MPI, which tests/deploy/test_mpi.py has."""

from root import inside


def test_each_rank_of_mpich_has_a_recording():
    lines = inside("""cd /tmp
        mpiexec.mpich -n 4 fp32shim run -q --log run.%r.fp32rec -- sh -c 'python3 /srv/model.py < /dev/null'; ls run.*""")
    assert lines == ["product 131072"] * 4 + [f"run.{rank}.fp32rec" for rank in range(4)]
