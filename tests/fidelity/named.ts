import type { Client } from "../../plugins/programs/fidelity/sample.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const list = (names: string): string[] => names.trim().split(/\n\s*/);
const words = (before: string, names: string): string[] => names.trim().split(/\s+/).map((name) => before + name);

/**
 * What clients of each protocol are known to send, by the section of the project's reference of clients that names it. The
 * reference is not in this repository: a name that it gains is to be added here. `model` is what the table's columns are.
 */
export const NAMED: Record<Client, Readonly<Record<string, readonly string[]>>> = {
  messages: {
    "1.1 body": [
      ...words(
        "",
        `max_tokens stop_sequences stream metadata service_tier cache_control container diagnostics inference_geo speed
        temperature top_p top_k mcp_servers fallbacks fallback_credit_token compaction billing_policy output_format
        safeguards tags system system[] tools`,
      ),
      ...words("messages[].", "clear_at output_config"),
      ...list(`
        max_tokens: 0
        messages[].role: user
        messages[].role: assistant
        messages[].role: system
        system[].cache_control
        system[]: x-anthropic-billing-header
        container.skills
        any other field`),
      ...words("thread: ", "create continue"),
      ...words("thinking.type: ", "enabled adaptive disabled between_tools"),
      ...words("thinking.", "budget_tokens display block_binding"),
      ...words("output_config.", "effort format task_budget"),
      ...words("tool_choice: ", "auto any tool none"),
      "tool_choice.disable_parallel_tool_use",
      ...words("context_management: ", "clear_tool_uses_20250919 clear_thinking_20251015 compact_20260112"),
    ],
    "1.1 headers": list(`
      anthropic-beta (header)
      anthropic-user-profile-id (header)
      anthropic-workspace-id (header)`),
    "1.2 content": [
      ...words("", "text text.cache_control text.citations image.cache_control image.transformations"),
      ...words("image: ", "base64 url file"),
      ...words("document: ", "base64 text content url file"),
      ...words("document.", "title context citations"),
      ...words("", "search_result search_result.citations thinking thinking.signature redacted_thinking"),
      ...words("tool_use.", "id name input cache_control caller toolset_name"),
      ...words("tool_result.", "is_error cache_control toolset_name"),
      ...words("tool_result[]: ", "text image search_result document tool_reference browser_state"),
      ...list(`
        tool_result
        tool_result: no content
        compaction (block)
        a block of another type`),
      ...words(
        "",
        `server_tool_use web_search_tool_result web_fetch_tool_result code_execution_tool_result
        bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result container_upload
        mcp_tool_use mcp_tool_result mcp_tool_listing fallback advisor_tool_result tool_addition tool_removal`,
      ),
    ],
    "1.3 tools": [
      ...words(
        "tools[].",
        `name description input_schema strict defer_loading eager_input_streaming input_examples allowed_callers
        cache_control`,
      ),
      ...list(`
        tools[].type: custom
        tools[]: any other field`),
      ...words(
        "tools: ",
        `bash_20250124 text_editor_20250124 text_editor_20250429 text_editor_20250728 memory_20250818 computer_20241022
        computer_20250124 computer_20251124 browser_toolset_20260801 computer_toolset_20260801 web_search_20250305
        web_search_20260209 web_search_20260318 web_fetch_20250910 web_fetch_20260209 web_fetch_20260309
        web_fetch_20260318 code_execution_20250522 code_execution_20250825 code_execution_20260120
        code_execution_20260521 tool_search_tool_bm25 tool_search_tool_bm25_20251119 tool_search_tool_regex
        tool_search_tool_regex_20251119 mcp_toolset advisor_20260301`,
      ),
    ],
  },
  chat: {
    "3.1 body": [
      ...words(
        "",
        `messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
        metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
        prompt_cache_options prompt_cache_retention safety_identifier seed service_tier stop stop[] store stream
        temperature tools top_logprobs top_p top_k user verbosity web_search_options`,
      ),
      ...EFFORTS.map((effort) => `reasoning_effort: ${effort}`),
      ...words("response_format: ", "text json_object json_schema"),
      ...words("response_format.json_schema.", "name description strict"),
      ...words("stream_options.", "include_usage include_obfuscation"),
      ...words("tool_choice: ", "none auto required function custom allowed_tools"),
      "any other field",
    ],
    "3.1 messages": [
      ...words("messages[].role: ", "developer system user assistant tool function"),
      ...words(
        "messages[].",
        "name refusal audio function_call tool_call_id reasoning_content reasoning cache_control",
      ),
      ...list(`
        messages[].content: null
        messages[].content[] of a tool
        messages[].tool_calls: function
        messages[].tool_calls: custom
        messages[]: any other field
        image_url: address
        a part of another type`),
      ...words(
        "",
        `text text.prompt_cache_breakpoint text.cache_control image_url image_url.detail
        image_url.prompt_cache_breakpoint input_audio file.file_data file.file_id file.filename refusal`,
      ),
    ],
    "3.1 tools": [
      ...words("tools[].function.", "name description parameters strict"),
      ...list(`
        tools[].cache_control
        tools[].function: any other field
        tools[].custom
        tools[].custom.format: text
        tools[].custom.format: grammar
        tools[].custom: any other field
        tools: another type`),
    ],
  },
  responses: {
    "4.1 body": [
      ...words(
        "",
        `input instructions instructions[] tools parallel_tool_calls max_output_tokens max_tool_calls
        previous_response_id conversation context_management background metadata prompt prompt_cache_key
        prompt_cache_options prompt_cache_retention safety_identifier service_tier stream temperature top_p top_logprobs
        user moderation image access_programs client_metadata presence_penalty frequency_penalty`,
      ),
      ...EFFORTS.map((effort) => `reasoning.effort: ${effort}`),
      ...words("reasoning.", "summary generate_summary context mode"),
      ...words("text.format: ", "text json_object json_schema"),
      ...words("text.format.", "name description strict"),
      ...words("text.", "verbosity"),
      ...words(
        "include: ",
        `file_search_call.results web_search_call.results web_search_call.action.sources message.input_image.image_url
        computer_call_output.output.image_url code_interpreter_call.outputs reasoning.encrypted_content
        message.output_text.logprobs`,
      ),
      ...words("store: ", "true false"),
      ...words("truncation: ", "auto disabled"),
      ...words("stream_options.", "include_obfuscation"),
      ...words(
        "tool_choice: ",
        "none auto required function custom allowed_tools hosted mcp apply_patch shell programmatic_tool_calling",
      ),
      "any other field",
    ],
    "4.2 items": [
      ...words("message.role: ", "user assistant system developer"),
      ...words("message.", "phase id status"),
      ...list(`
        message: no type
        message: any other field
        input_image.image_url: address
        reasoning.summary (item)
        an item of another type`),
      ...words(
        "",
        `input_text input_image.image_url input_image.file_id input_image.detail input_file.file_data input_file.file_id
        input_file.file_url input_file.filename input_audio output_text output_text.annotations refusal
        reasoning.content reasoning.encrypted_content item_reference`,
      ),
      ...words("function_call.", "call_id name arguments id namespace status"),
      ...words("function_call_output.", "output id"),
      ...words("function_call_output.output[]: ", "input_text input_image input_file"),
      ...words("custom_tool_call.", "name input namespace"),
      ...words(
        "",
        `custom_tool_call_output local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call
        apply_patch_call_output web_search_call file_search_call code_interpreter_call image_generation_call
        computer_call computer_call_output mcp_list_tools mcp_call mcp_approval_request mcp_approval_response
        tool_search_call tool_search_output additional_tools compaction compaction_trigger program program_output`,
      ),
    ],
    "4.3 tools": [
      ...words("tools[].", "description parameters defer_loading output_schema async"),
      ...list(`
        tools[].parameters: null
        tools[].strict: true
        tools[].strict: null
        tools[]: any other field
        tools: custom.format: text
        tools: custom.format: grammar
        tools: custom: any other field`),
      ...words(
        "tools: ",
        `function custom namespace web_search web_search_preview file_search mcp code_interpreter image_generation
        local_shell shell apply_patch computer computer_use_preview tool_search programmatic_tool_calling`,
      ),
    ],
  },
  ollama: {
    "other wires 1.2 body": [
      ...words("", "messages tools stream keep_alive truncate shift logprobs top_logprobs"),
      ...words("format: ", "json none"),
      ...words("think: ", "true false low medium high max"),
      ...words(
        "options.",
        `num_ctx num_predict temperature top_k top_p min_p typical_p repeat_last_n repeat_penalty presence_penalty
        frequency_penalty seed stop num_keep num_batch num_gpu`,
      ),
      "format: a schema",
      "any other field",
    ],
    "other wires 1.2 messages": [
      ...words("messages[].role: ", "system user assistant tool"),
      ...words("messages[].", "thinking images tool_name tool_call_id"),
      ...words("messages[].tool_calls[].", "id function.index function.name function.arguments"),
      ...words("tools[].function.", "name description parameters"),
    ],
  },
  gemini: {
    "other wires 2.3 body": [
      ...words("", "contents systemInstruction tools safetySettings cachedContent serviceTier"),
      ...words("functionCallingConfig.mode: ", "AUTO ANY NONE VALIDATED"),
      ...words("allowedFunctionNames: ", "one several"),
      ...words(
        "generationConfig.",
        `temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty
        responseSchema responseJsonSchema responseLogprobs logprobs`,
      ),
      ...words("generationConfig.responseMimeType: ", "text json"),
      ...words("generationConfig.responseModalities: ", "text another"),
      ...words("thinkingConfig.", "includeThoughts thinkingBudget"),
      ...words("thinkingConfig.thinkingBudget: ", "0 -1"),
      ...words("thinkingConfig.thinkingLevel: ", "MINIMAL LOW MEDIUM HIGH"),
      ...words("functionDeclarations[].", "name description parameters parametersJsonSchema response"),
      ...words("tools[].", "googleSearch urlContext codeExecution"),
      "any other field",
    ],
    "other wires 2.3 parts": [
      ...words("", "text thought inlineData thoughtSignature"),
      ...words("fileData: ", "address uploaded"),
      ...words("functionCall.", "id name args"),
      ...words("functionResponse.", "id name parts"),
      ...words("functionResponse.response: ", "output error"),
    ],
  },
};
