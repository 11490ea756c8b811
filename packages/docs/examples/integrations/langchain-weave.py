"""An agent of LangChain, traced by weave."""

import weave
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

weave.init("local/langchain-weave")


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 °C in {city}"


model = ChatOpenAI(model="gpt-4o-mini")
agent = create_agent(model, tools=[get_weather], name="weather")

with weave.thread("support-4711"):
    question = {"role": "user", "content": "What is the weather in Paris?"}
    print(agent.invoke({"messages": [question]})["messages"][-1].content)
    for chunk in model.stream("What should I wear?", stream_usage=True):
        print(chunk.content, end="")
weave.finish()
