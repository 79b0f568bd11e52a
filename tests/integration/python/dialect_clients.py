"""Frameworks that speak Responses or Messages, at weir's routes: what an application is given.

    dialect_clients.py LIBRARY <JOBS >RESULTS

    {"base": URL of the route, "way": "say" | "stream" | "tool", "model": …, "text": …}
      -> {"said": …, "joined": the pieces of a stream, "calls": […]} or {"class": …, "words": …}
"""

import asyncio
import json
import sys
import traceback

TOOL = {"title": "look", "description": "Looks.", "type": "object",
        "properties": {"a": {"type": "string"}}, "required": ["a"]}  # fmt: skip


def text_of(message):
    """All that a message of LangChain says, whether its content is a text or blocks."""
    return message.text if isinstance(message.text, str) else message.text()


def by_langchain(model, job):
    if job["way"] == "tool":
        model = model.bind_tools([TOOL])
    if job["way"] != "stream":
        message = model.invoke(job["text"])
        return {"said": text_of(message), "calls": [call["args"] for call in message.tool_calls]}
    whole, joined = None, ""
    for piece in model.stream(job["text"]):
        joined += text_of(piece)
        whole = piece if whole is None else whole + piece
    return {"said": text_of(whole), "joined": joined, "calls": [call["args"] for call in whole.tool_calls]}


def langchain_responses(job):
    from langchain_openai import ChatOpenAI

    return by_langchain(ChatOpenAI(base_url=job["base"] + "/v1", api_key="none", model=job["model"], max_retries=0,
                                   use_responses_api=True), job)  # fmt: skip


def langchain_anthropic(job):
    from langchain_anthropic import ChatAnthropic

    return by_langchain(ChatAnthropic(base_url=job["base"], api_key="none", model=job["model"], max_tokens=100,
                                      max_retries=0), job)  # fmt: skip


def agents(job):
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    calls = []

    @function_tool
    def look(a: str) -> str:
        """Looks."""
        calls.append({"a": a})
        return "seen"

    async def run():
        client = AsyncOpenAI(base_url=job["base"] + "/v1", api_key="none", max_retries=0)
        model = OpenAIResponsesModel(model=job["model"], openai_client=client)
        agent = Agent(name="a", instructions="Be kind.", model=model, tools=[look] if job["way"] == "tool" else [],
                      tool_use_behavior="stop_on_first_tool")  # fmt: skip
        if job["way"] != "stream":
            return {"said": (await Runner.run(agent, job["text"])).final_output, "calls": calls}
        result, joined = Runner.run_streamed(agent, job["text"]), ""
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                joined += event.data.delta
        return {"said": result.final_output, "joined": joined, "calls": calls}

    return asyncio.run(run())


LIBRARIES = {"langchain responses": langchain_responses, "langchain anthropic": langchain_anthropic,
             "openai-agents": agents}  # fmt: skip


def run(job):
    try:
        return LIBRARIES[sys.argv[1]](job)
    except Exception as error:  # whatever it is, it is what the application would be given
        return {"class": type(error).__name__, "words": str(error), "trace": traceback.format_exc()}


json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
