"""torch.nn"""

import types

functional = types.SimpleNamespace()
