"""One client library at weir's routes: what an application that uses it is given, or what it raises.

    more_clients.py LIBRARY <JOBS >RESULTS

    {"base": URL, "key": …, "call": "say" | "stream" | "json" | "tools", "model": …, "text": …, "extra": {…}}
      -> {"said": …, "refusal": …, "finish": …} or {"class": …, "status": …, "words": …, "said": …}

`said` is a text, for "json" the object that was read, for "tools" the arguments of the call (the text, where there
is no call). `extra` are members of the request that no library knows. No library asks a second time.
"""

import json
import sys
import traceback

from pydantic import BaseModel


class Contact(BaseModel):
    """A contact."""

    name: str
    mail: str


TOOL = {"type": "function", "function": {"name": "send", "description": "Sends a message.", "parameters": {
    "type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}}  # fmt: skip


def send(to: str) -> str:
    """Sends a message."""
    return to


class Stopped(Exception):
    """A stream that broke off: what was said before it, and why."""

    def __init__(self, said):
        self.said = said


def gather(pieces):
    """The texts of a stream together."""
    said = ""
    try:
        for piece in pieces:
            said += piece or ""
    except Exception as error:
        raise Stopped(said) from error
    return said


def read(choice):
    """A choice of a whole answer, as the openai package and LiteLLM have it."""
    if choice.message.tool_calls:
        return {"said": json.loads(choice.message.tool_calls[0].function.arguments)}
    return {"said": choice.message.content, "refusal": getattr(choice.message, "refusal", None),
            "finish": choice.finish_reason}  # fmt: skip


def by_openai(job):
    import openai

    client = openai.OpenAI(base_url=job["base"], api_key=job["key"], max_retries=0, timeout=60)
    ask = {"model": job["model"], "messages": [{"role": "user", "content": job["text"]}],
           "extra_body": job["extra"]}  # fmt: skip
    if job["call"] == "stream":
        stream = client.chat.completions.create(**ask, stream=True)
        return {"said": gather(event.choices[0].delta.content for event in stream if event.choices)}
    if job["call"] == "json":
        choice = client.chat.completions.parse(**ask, response_format=Contact).choices[0]
        parsed = choice.message.parsed
        return {"said": parsed and parsed.model_dump(), "refusal": choice.message.refusal}
    if job["call"] == "tools":
        ask["tools"] = [TOOL]
    return read(client.chat.completions.create(**ask).choices[0])


def by_langchain(job):
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=job["model"], base_url=job["base"], api_key=job["key"], max_retries=0, timeout=60,
                       extra_body=job["extra"])  # fmt: skip
    if job["call"] == "stream":
        return {"said": gather(piece.content for piece in model.stream(job["text"]))}
    if job["call"] == "json":
        return {"said": model.with_structured_output(Contact).invoke(job["text"]).model_dump()}
    message = (model.bind_tools([TOOL]) if job["call"] == "tools" else model).invoke(job["text"])
    if message.tool_calls:
        return {"said": message.tool_calls[0]["args"]}
    return {"said": message.content, "refusal": message.additional_kwargs.get("refusal"),
            "finish": message.response_metadata["finish_reason"]}  # fmt: skip


def by_llama_index(job):
    from llama_index.core.llms import ChatMessage
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(model=job["model"], api_base=job["base"], api_key=job["key"], max_retries=0, timeout=60,
                       is_chat_model=True, is_function_calling_model=True,
                       should_use_structured_outputs=True,
                       additional_kwargs={"extra_body": job["extra"]})  # fmt: skip
    messages = [ChatMessage(role="user", content=job["text"])]
    if job["call"] == "stream":
        return {"said": gather(piece.delta for piece in model.stream_chat(messages))}
    if job["call"] == "json":
        return {"said": model.as_structured_llm(Contact).chat(messages).raw.model_dump()}
    if job["call"] == "tools":
        answer = model.chat_with_tools([FunctionTool.from_defaults(send)], chat_history=messages)
        calls = model.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
        if calls:
            return {"said": calls[0].tool_kwargs}
    else:
        answer = model.chat(messages)
    return {"said": answer.message.content, "finish": answer.raw.choices[0].finish_reason}


def by_litellm(job):
    import litellm

    litellm.suppress_debug_info = True
    ask = {"model": f"openai/{job['model']}", "messages": [{"role": "user", "content": job["text"]}],
           "api_base": job["base"], "api_key": job["key"], "max_retries": 0, "timeout": 60,
           "extra_body": job["extra"]}  # fmt: skip
    if job["call"] == "stream":
        stream = litellm.completion(**ask, stream=True)
        return {"said": gather(event.choices[0].delta.content for event in stream if event.choices)}
    if job["call"] == "json":
        text = litellm.completion(**ask, response_format=Contact).choices[0].message.content
        return {"said": Contact.model_validate_json(text).model_dump()}
    if job["call"] == "tools":
        ask["tools"] = [TOOL]
    return read(litellm.completion(**ask).choices[0])


def by_pydantic_ai(job):
    from openai import AsyncOpenAI
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=job["base"], api_key=job["key"], max_retries=0, timeout=60)
    model = OpenAIChatModel(job["model"], provider=OpenAIProvider(openai_client=client),
                            settings={"extra_body": job["extra"]})  # fmt: skip
    if job["call"] == "json":
        agent = Agent(model, output_type=NativeOutput(Contact), retries=0)
        return {"said": agent.run_sync(job["text"]).output.model_dump()}
    agent, called = Agent(model, retries=0), []
    if job["call"] == "stream":
        stream = agent.run_stream_sync(job["text"])
        return {"said": gather(stream.stream_text(delta=True, debounce_by=None))}
    if job["call"] == "tools":

        @agent.tool_plain
        def send(to: str) -> str:
            """Sends a message."""
            called.append({"to": to})
            return "done"

    result = agent.run_sync(job["text"])
    return {"said": called[0] if called else result.output, "finish": result.response.finish_reason}


def by_instructor(job):
    import instructor
    import openai

    bare = openai.OpenAI(base_url=job["base"], api_key=job["key"], max_retries=0, timeout=60)
    ask = {"model": job["model"], "messages": [{"role": "user", "content": job["text"]}], "max_retries": 0,
           "extra_body": job["extra"]}  # fmt: skip
    if job["call"] == "json":
        client = instructor.from_openai(bare, mode=instructor.Mode.JSON_SCHEMA)
        return {"said": client.chat.completions.create(**ask, response_model=Contact).model_dump()}
    client = instructor.from_openai(bare, mode=instructor.Mode.TOOLS)
    if job["call"] == "tools":

        class send(BaseModel):
            """Sends a message."""

            to: str

        return {"said": client.chat.completions.create(**ask, response_model=send).model_dump()}
    if job["call"] == "stream":
        stream = client.chat.completions.create(**ask, response_model=None, stream=True)
        return {"said": gather(event.choices[0].delta.content for event in stream if event.choices)}
    return read(client.chat.completions.create(**ask, response_model=None).choices[0])


LIBRARIES = {"openai": by_openai, "LangChain": by_langchain, "LlamaIndex": by_llama_index,
             "LiteLLM": by_litellm, "pydantic-ai": by_pydantic_ai, "instructor": by_instructor}  # fmt: skip


def run(ask, job):
    said = None
    try:
        return ask(job)
    except Stopped as stopped:
        said, error = stopped.said, stopped.__cause__
    except Exception as raised:
        error = raised
    print(job, *traceback.format_exception(error), file=sys.stderr)
    return {"class": type(error).__name__, "status": getattr(error, "status_code", None),
            "words": str(error), "said": said}  # fmt: skip


out = sys.stdout
sys.stdout = sys.stderr  # libraries print
json.dump([run(LIBRARIES[sys.argv[1]], job) for job in json.load(sys.stdin)], out)
