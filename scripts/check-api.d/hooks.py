"""Half of the requests name existing entities, so that more than the 404 path is tested."""

import os
import random

import schemathesis

LIFECYCLES = ["mission.task", "build.task", "coding.goal", "research.session", "mission.control"]
IDS = ["one", "two", "three", "control"]
known = random.Random(7420)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not path_parameters:
        return path_parameters
    if "lifecycle" in path_parameters and known.random() < 0.7:
        path_parameters["lifecycle"] = known.choice(LIFECYCLES)
        if "id" in path_parameters:
            path_parameters["id"] = known.choice(IDS)
    # The token of this run must stay valid.
    if path_parameters.get("id") == os.environ.get("TRACKSIDE_TOKEN_ID"):
        path_parameters["id"] = "none"
    return path_parameters
