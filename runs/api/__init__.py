"""The HTTP API, version 1: what an agent outside needs. Routes are in the modules beside this one."""
