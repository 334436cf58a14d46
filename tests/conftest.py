import pytest


@pytest.fixture(autouse=True, scope="session")
def working_folder(tmp_path_factory):
    """A new working folder for the tests, because `fp32shim run` keeps recordings in the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("working"))
        yield
