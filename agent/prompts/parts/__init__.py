"""Parts that prompts are composed of, one subject a file: each a function from a scene to a Part or a text."""
