"""Servers that speak the OpenAI protocol (vLLM, SGLang, llama-server and others) as an engine."""
