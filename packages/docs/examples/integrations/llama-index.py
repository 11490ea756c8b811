"""An agent of LlamaIndex, traced by OpenInference."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LlamaIndexInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 °C in {city}"


llm = OpenAI(model="gpt-4o-mini", additional_kwargs={"stream_options": {"include_usage": True}})
agent = FunctionAgent(name="weather", tools=[get_weather], llm=llm)


async def main() -> None:
    print(await agent.run("What is the weather in Paris?"))
    for piece in llm.stream_complete("What should I wear?"):
        print(piece.delta, end="")


with using_session("support-4711"):
    asyncio.run(main())
provider.shutdown()
