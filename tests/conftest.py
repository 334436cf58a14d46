import pytest


@pytest.fixture(autouse=True, scope="session")
def working_folder(tmp_path_factory):
    """Another one than that of whoever runs the tests, since `fp32shim run` keeps recordings there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("working"))
        yield
