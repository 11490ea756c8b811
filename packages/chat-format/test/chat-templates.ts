/**
 * Chat templates in the forms of published models, written for these tests. Whitespace control follows common
 * practice: most trim around every block.
 */

/** ChatML, with tools in the system turn in the Hermes form and tool results inside user turns. */
export const chatMl = `{%- set system = "" %}
{%- if messages[0].role == "system" %}
    {%- set system = messages[0].content %}
{%- endif %}
{%- if tools %}
    {{- "<|im_start|>system\\n" }}
    {%- if system %}{{- system + "\\n\\n" }}{%- endif %}
    {{- "You may call functions:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}{{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif system %}
    {{- "<|im_start|>system\\n" + system + "<|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" %}
        {{- "<|im_start|>assistant\\n" + message.content }}
        {%- for call in message.tool_calls or [] %}
            {%- if message.content or not loop.first %}{{- "\\n" }}{%- endif %}
            {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson + "}\\n</tool_call>" }}
        {%- endfor %}
        {{- "<|im_end|>\\n" }}
    {%- elif message.role == "tool" %}
        {%- if loop.previtem.role != "tool" %}{{- "<|im_start|>user" }}{%- endif %}
        {{- "\\n<tool_response>\\n" + message.content + "\\n</tool_response>" }}
        {%- if loop.last or loop.nextitem.role != "tool" %}{{- "<|im_end|>\\n" }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
{%- endif %}`;

/** Headers between special tokens, content trimmed, the beginning token written by the template, a date. */
export const headers = `{{- bos_token }}
{%- set today = strftime_now("%d %b %Y") %}
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nIt is " + today + "\\n\\n" + system_message + "<|eot_id|>" }}
{%- for message in messages %}
    {%- if message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or (message.content is iterable and message.content is not string) %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- elif message.tool_calls %}
        {%- if message.tool_calls | length != 1 %}
            {{- raise_exception("One call at a time, please") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" }}
        {{- '{"name": "' + tool_call.name + '", "parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- else %}
        {{- "<|start_header_id|>" + message.role + "<|end_header_id|>\\n\\n" + message.content | trim + "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" }}
{%- endif %}`;

/** ChatML with think blocks, kept only after the last question. A last answer without reasoning gets an empty one. */
export const thinking = `{%- set ns = namespace(searching=true, last_question=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" %}
        {%- set ns.searching = false %}
        {%- set ns.last_question = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "assistant" %}
        {%- set content = message.content %}
        {%- set thoughts = "" %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- elif "</think>" in content %}
            {%- set thoughts = content.split("</think>")[0].rstrip("\\n").split("<think>")[-1].lstrip("\\n") %}
            {%- set content = content.split("</think>")[-1].lstrip("\\n") %}
        {%- endif %}
        {%- if loop.index0 > ns.last_question and (loop.last or thoughts) %}
            {{- "<|im_start|>assistant\\n<think>\\n" + thoughts.strip("\\n") + "\\n</think>\\n\\n" + content.lstrip("\\n") }}
        {%- else %}
            {{- "<|im_start|>assistant\\n" + content }}
        {%- endif %}
        {{- "<|im_end|>\\n" }}
    {%- else %}
        {{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- "<think>\\n\\n</think>\\n\\n" }}
    {%- endif %}
{%- endif %}`;

/** Turns in brackets, strictly alternating; the answer ends with the end-of-text token. */
export const brackets = `{%- for message in messages %}
{%- if (message.role == "user") != (loop.index0 % 2 == 0) %}{{ raise_exception("Turns must alternate between user and assistant") }}{% endif %}
{%- if message.role == "user" %}{{ bos_token + "[INST] " + message.content + " [/INST]" }}
{%- else %}{{ " " + message.content + " " + eos_token }}
{%- endif %}
{%- endfor %}`;
