"""An agent of the OpenAI Agents SDK, traced by OpenInference."""

import asyncio

from agents import Agent, Runner, function_tool, trace
from openinference.instrumentation import using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 °C in {city}"


agent = Agent(name="weather", model="gpt-4o-mini", tools=[get_weather])


async def main() -> None:
    with trace("answer"):
        print((await Runner.run(agent, "What is the weather in Paris?")).final_output)
    with trace("advise"):
        run = Runner.run_streamed(agent, "What should I wear?")
        async for _ in run.stream_events():
            pass
        print(run.final_output)


with using_session("support-4711"):
    asyncio.run(main())
provider.shutdown()
