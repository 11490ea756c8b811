"""Answers questions with the OpenAI client, traced by OpenInference."""

import json

from openai import OpenAI
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIInstrumentor().instrument(tracer_provider=provider)
tracer = provider.get_tracer(__name__)

client = OpenAI()
model = "gpt-4o-mini"
city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": city}}]


@tracer.tool
def get_weather(city: str) -> str:
    return f"18 °C in {city}"


@tracer.chain
def answer(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    message = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message
    messages.append(message)
    for call in message.tool_calls:
        weather = get_weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": weather})
    return client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message.content


@tracer.chain
def advise(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    chunks = client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


with using_session("support-4711"):
    print(answer("What is the weather in Paris?"))
    print(advise("What should I wear?"))
provider.shutdown()
