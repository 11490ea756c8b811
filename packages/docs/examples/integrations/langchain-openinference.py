"""An agent of LangChain, traced by OpenInference."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 °C in {city}"


model = ChatOpenAI(model="gpt-4o-mini")
agent = create_agent(model, tools=[get_weather], name="weather")

with using_session("support-4711"):
    question = {"role": "user", "content": "What is the weather in Paris?"}
    print(agent.invoke({"messages": [question]})["messages"][-1].content)
    for chunk in model.stream("What should I wear?", stream_usage=True):
        print(chunk.content, end="")
provider.shutdown()
