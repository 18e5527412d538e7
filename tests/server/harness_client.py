"""Computes log-likelihoods with lm-evaluation-harness, for loglikelihood_test.py.

Reads {"url", "model", "texts": [{"ids", "begin"}]} from stdin and writes [[sum, is greedy]...].
"""
import json
import sys

from lm_eval.models.openai_completions import LocalCompletionsAPI

asked = json.load(sys.stdin)
model = LocalCompletionsAPI(model=asked["model"], base_url=asked["url"] + "/v1/completions",
                            tokenizer_backend="remote", tokenized_requests=True, num_concurrent=4,
                            batch_size=8, max_retries=1)
requests = [(("", ""), t["ids"][:t["begin"]], t["ids"][t["begin"]:]) for t in asked["texts"]]
found = model._loglikelihood_tokens(requests)  # pylint: disable=protected-access
print(json.dumps([[float(total), bool(greedy)] for total, greedy in found]))
