"""Answers questions with LiteLLM, traced by its callback for OpenTelemetry."""

import json

import litellm
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer(__name__)
litellm.callbacks = ["otel"]

model = "gpt-4o-mini"
city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": city}}]


def get_weather(city: str) -> str:
    with tracer.start_as_current_span("get_weather", attributes={"input": city}) as span:
        weather = f"18 °C in {city}"
        span.set_attribute("output", weather)
        return weather


def answer(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    message = litellm.completion(model=model, messages=messages, tools=tools).choices[0].message
    messages.append(message)
    for call in message.tool_calls:
        weather = get_weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": weather})
    return litellm.completion(model=model, messages=messages, tools=tools).choices[0].message.content


def advise(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    # LiteLLM records a stream in a thread of its own, which does not know the span around it.
    parent = {"litellm_parent_otel_span": trace.get_current_span()}
    chunks = litellm.completion(
        model=model, messages=messages, metadata=parent, stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


for ask, question in [(answer, "What is the weather in Paris?"), (advise, "What should I wear?")]:
    attributes = {"session.id": "support-4711", "input": question}
    with tracer.start_as_current_span(ask.__name__, attributes=attributes) as span:
        text = ask(question)
        span.set_attribute("output", text)
        print(text)
provider.shutdown()
