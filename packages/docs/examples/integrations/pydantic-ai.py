"""An agent of Pydantic AI, traced by its own instrumentation."""

import asyncio

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, InstrumentationSettings

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))

agent = Agent("openai-chat:gpt-4o-mini", name="weather")


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 °C in {city}"


async def main() -> None:
    run = await agent.run("What is the weather in Paris?", conversation_id="support-4711")
    print(run.output)
    async with agent.run_stream("What should I wear?", conversation_id="support-4711") as stream:
        print(await stream.get_output())


asyncio.run(main())
provider.shutdown()
