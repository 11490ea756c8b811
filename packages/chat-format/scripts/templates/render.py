"""Renders chat templates with Hugging Face transformers, as the reference for this package.

    python render.py chats DIRECTORY... > rendered.jsonl    # every *.jinja file with every conversation of cases.json
    python render.py fixtures                               # writes the fixtures of this package

Prepares messages as vLLM and transformers do: arguments of tool calls as objects, content that is null as an empty text,
text parts joined by line breaks unless the template reads parts.

Needs transformers and jinja2 in a virtual environment outside of the repository. `compare.ts` compares the output of
`chats` with the renderings of this package.
"""

import copy
import datetime
import json
import pathlib
import sys

import jinja2
import transformers.utils.chat_template_utils as chat_template_utils

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 7, 4, 13, 5, 9)


class FixedDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat_template_utils.datetime = FixedDatetime

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def reads_parts(source):
    """Whether the template iterates over the content of messages, by the rule of vLLM's content format."""
    tree = chat_template_utils._compile_jinja_template(source).environment.parse(source)
    nodes = jinja2.nodes

    def names(node, variable, key=None):
        if isinstance(node, (nodes.Filter, nodes.Test)) and node.node is not None:
            return names(node.node, variable, key)
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            return names(node.node, variable, key)
        if key is None:
            return isinstance(node, nodes.Name) and node.name == variable
        if isinstance(node, nodes.Getitem):
            return names(node.node, variable) and isinstance(node.arg, nodes.Const) and node.arg.value == key
        return isinstance(node, nodes.Getattr) and node.attr == key and names(node.node, variable)

    lists = {"messages"}
    for assignment in tree.find_all(nodes.Assign):
        if isinstance(assignment.target, nodes.Name) and any(names(assignment.node, each) for each in lists):
            lists.add(assignment.target.name)
    loops = list(tree.find_all(nodes.For))
    messages = [
        loop.target.name
        for loop in loops
        if isinstance(loop.target, nodes.Name) and any(names(loop.iter, each) for each in lists)
    ]
    return any(names(loop.iter, message, "content") for loop in loops for message in messages)


def prepare(message, source, parts):
    message = copy.deepcopy(message)
    content = message.get("content")
    if content is None:
        message["content"] = ""
    elif isinstance(content, list) and (not parts or message["role"] == "tool"):
        message["content"] = "\n".join(part["text"] for part in content)
    if message["role"] == "developer" and "'developer'" not in source and '"developer"' not in source:
        message["role"] = "system"
    reasoning = message.get("reasoning")
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    for call in message.get("tool_calls", []):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"] or "{}")
    return message


def render(source, request):
    request = copy.deepcopy(request)
    parts = reads_parts(source)
    messages = [prepare(message, source, parts) for message in request["messages"]]
    [text], _ = chat_template_utils.render_jinja_template(
        [messages],
        tools=request.get("tools"),
        documents=request.get("documents"),
        chat_template=source,
        add_generation_prompt=request.get("addGenerationPrompt", True),
        continue_final_message=request.get("continueFinalMessage", False),
        **TOKENS,
        **request.get("kwargs", {}),
    )
    return text


def outcome(render_one):
    """What a rendering yields: its text, or the error of the reference, whose wording is not compared."""
    try:
        return {"text": render_one()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def chats(directories):
    cases = json.loads((HERE / "cases.json").read_text())
    files = sorted(file for directory in directories for file in pathlib.Path(directory).rglob("*.jinja"))
    for file in files:
        source = file.read_text()
        for case, request in cases.items():
            yield {
                "template": f"{file.parent.name}/{file.stem}",
                "file": str(file.resolve()),
                "case": case,
                "request": json.dumps(request),
                **outcome(lambda: render(source, request)),
            }


def fixtures():
    folder = HERE.parent.parent / "fixtures"
    rendered = [
        {key: line[key] for key in ("template", "case", "text", "error") if key in line} for line in chats([folder])
    ]
    write(folder / "rendered.json", rendered)
    snippets = json.loads((HERE / "snippets.json").read_text())
    variables = snippets["variables"]
    results = []
    for source in snippets["templates"]:
        template = chat_template_utils._compile_jinja_template
        results.append({"source": source, **outcome(lambda: template(source).render(**copy.deepcopy(variables)))})
    write(folder / "snippets.json", {"variables": variables, "templates": results})


def write(file, content):
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    command, *directories = sys.argv[1:]
    if command == "fixtures":
        fixtures()
    else:
        for line in chats(directories):
            print(json.dumps(line))
