"""Answers questions with the OpenAI client, traced by OpenLLMetry."""

import json

from openai import OpenAI
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import tool, workflow

Traceloop.init(app_name="support")
Traceloop.set_association_properties({"session_id": "support-4711"})

client = OpenAI()
model = "gpt-4o-mini"
city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": city}}]


@tool(name="get_weather")
def get_weather(city: str) -> str:
    return f"18 °C in {city}"


@workflow(name="answer")
def answer(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    message = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message
    messages.append(message)
    for call in message.tool_calls:
        weather = get_weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": weather})
    return client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message.content


@workflow(name="advise")
def advise(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    chunks = client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


print(answer("What is the weather in Paris?"))
print(advise("What should I wear?"))
