"""An agent of LangChain, traced by LangSmith's exporter of OpenTelemetry."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langsmith import Client, traceable
from opentelemetry import trace


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 °C in {city}"


client = Client()
model = ChatOpenAI(model="gpt-4o-mini")
agent = create_agent(model, tools=[get_weather], name="weather")


@traceable(client=client)
def answer(question: str) -> str:
    return agent.invoke({"messages": [{"role": "user", "content": question}]})["messages"][-1].content


@traceable(client=client)
def advise(question: str) -> str:
    return "".join(chunk.content for chunk in model.stream(question, stream_usage=True))


session = {"metadata": {"session_id": "support-4711"}}
print(answer("What is the weather in Paris?", langsmith_extra=session))
print(advise("What should I wear?", langsmith_extra=session))
client.flush()
trace.get_tracer_provider().shutdown()
