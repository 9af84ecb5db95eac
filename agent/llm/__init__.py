"""Talking to a language model over the OpenAI protocol: which models there are, one call, its errors, its answer.

Pure: whoever drives it gives the model's specification, the key and a desk that keeps the books. Nothing here knows
what is asked for; ``agent/proposers/openai.py`` does.
"""
