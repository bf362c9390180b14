"""Answers each line of stdin, {"release": of ag-ui-protocol, "input": text of a run input}, with what that release's
own model says of it: {} or {"error": why}. The releases lie unpacked beside each other in the folder that is named."""

import importlib
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
folder = pathlib.Path(sys.argv[1])
models = {}


def model_of(release):
    if release not in models:
        sys.path.insert(0, str(folder / release))
        for name in [name for name in sys.modules if name.split(".")[0] == "ag_ui"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        core = importlib.import_module("ag_ui.core")
        assert str(folder / release) in core.__file__, core.__file__
        models[release] = core.RunAgentInput
        sys.path.pop(0)
    return models[release]


for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    try:
        model_of(request["release"]).model_validate_json(request["input"])
    except ValueError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
