"""Asks for moderations with the openai package: jobs as JSON on standard input.

    {"base": URL, "ask": {…}}  ->  the answer as the package has read it, or what it raised
"""

import json
import sys

import openai


def run(job):
    client = openai.OpenAI(base_url=job["base"], api_key="none", max_retries=0, timeout=60)
    try:
        answer = client.moderations.create(**job["ask"])
    except openai.APIStatusError as error:
        return {"class": type(error).__name__, "status": error.status_code, "text": str(error)}
    assert all(isinstance(r.categories.self_harm, bool) for r in answer.results)
    assert all(isinstance(r.category_scores.violence_graphic, float) for r in answer.results)
    assert all(r.category_applied_input_types.hate == [] for r in answer.results)
    return answer.model_dump(by_alias=True)


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
