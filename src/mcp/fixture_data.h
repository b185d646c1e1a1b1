// The fixture's fixed parts, as JSON.
#pragma once

namespace paddock::mcp::fixture {

inline constexpr const char* kImage =
    // One red pixel.
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg"
    "==";
// One sample of silence.
inline constexpr const char* kAudio =
    "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

// A schema with a reference, an anchor and nested objects, to see that they pass through unchanged.
inline constexpr const char* kSchema2020 = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                 "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                 "phone": {"type": "string"}, "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]}, "else": {"required": ["email"]},
  "additionalProperties": false})json";
inline constexpr const char* kSchemaPrompt =
    R"json({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})json";
inline constexpr const char* kSchemaMessage =
    R"json({"type": "object", "properties": {"message": {"type": "string"}},
  "required": ["message"]})json";
inline constexpr const char* kSchemaHeaders = R"json({
  "type": "object",
  "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "priority": {"type": "integer", "x-mcp-header": "Priority"},
    "verbose": {"type": "boolean", "x-mcp-header": "Verbose"}, "query": {"type": "string"}
  }
})json";

inline constexpr const char* kDefaultsForm = R"json({
  "message": "Please review and update the form fields with defaults",
  "requestedSchema": {
    "type": "object", "required": [],
    "properties": {
      "name": {"type": "string", "description": "User name", "default": "John Doe"},
      "age": {"type": "integer", "description": "User age", "default": 30},
      "score": {"type": "number", "description": "User score", "default": 95.5},
      "status": {
        "type": "string", "description": "User status", "enum": ["active", "inactive", "pending"],
        "default": "active"
      },
      "verified": {"type": "boolean", "description": "Verification status", "default": true}
    }
  }
})json";
inline constexpr const char* kEnumsForm = R"json({
  "message": "Please select options from the enum fields",
  "requestedSchema": {
    "type": "object", "required": [],
    "properties": {
      "untitledSingle": {
        "type": "string", "description": "Select one option",
        "enum": ["option1", "option2", "option3"]
      },
      "titledSingle": {
        "type": "string", "description": "Select one option with titles",
        "oneOf": [
          {"const": "value1", "title": "First Option"},
          {"const": "value2", "title": "Second Option"},
          {"const": "value3", "title": "Third Option"}
        ]
      },
      "legacyEnum": {
        "type": "string", "description": "Select one option (legacy)",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"]
      },
      "untitledMulti": {
        "type": "array", "description": "Select multiple options", "minItems": 1, "maxItems": 3,
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]}
      },
      "titledMulti": {
        "type": "array", "description": "Select multiple options with titles", "minItems": 1,
        "maxItems": 3,
        "items": {
          "anyOf": [
            {"const": "value1", "title": "First Choice"},
            {"const": "value2", "title": "Second Choice"},
            {"const": "value3", "title": "Third Choice"}
          ]
        }
      }
    }
  }
})json";

inline constexpr const char* kAskName = R"json({
  "method": "elicitation/create",
  "params": {
    "message": "What is your name?",
    "requestedSchema": {
      "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]
    }
  }
})json";
inline constexpr const char* kAskColor = R"json({
  "method": "elicitation/create",
  "params": {
    "message": "Step 2: What is your favorite color?",
    "requestedSchema": {
      "type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]
    }
  }
})json";
inline constexpr const char* kAskConfirm = R"json({
  "method": "elicitation/create",
  "params": {
    "message": "Please confirm",
    "requestedSchema": {
      "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]
    }
  }
})json";
inline constexpr const char* kAskContext = R"json({
  "method": "elicitation/create",
  "params": {
    "message": "What context should the prompt use?",
    "requestedSchema": {
      "type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]
    }
  }
})json";
inline constexpr const char* kAskModel = R"json({
  "method": "sampling/createMessage",
  "params": {
    "messages": [
      {"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}
    ],
    "maxTokens": 100
  }
})json";
inline constexpr const char* kAskRoots = R"json({"method":"roots/list","params":{}})json";

inline constexpr const char* kResources = R"json([
  {
    "uri": "test://static-text", "name": "static-text", "title": "Static Text Resource",
    "description": "A static text resource for testing", "mimeType": "text/plain"
  },
  {
    "uri": "test://static-binary", "name": "static-binary", "title": "Static Binary Resource",
    "description": "A static binary resource (image) for testing", "mimeType": "image/png"
  },
  {
    "uri": "test://watched-resource", "name": "watched-resource", "title": "Watched Resource",
    "description": "A resource that changes when test_trigger_resource_change is called",
    "mimeType": "text/plain"
  }
])json";
inline constexpr const char* kTemplates = R"json([
  {
    "uriTemplate": "test://template/{id}/data", "name": "template", "title": "Resource Template",
    "description": "A resource template with parameter substitution",
    "mimeType": "application/json"
  }
])json";
inline constexpr const char* kPrompts = R"json([
  {
    "name": "test_simple_prompt", "title": "Simple Test Prompt",
    "description": "A simple prompt without arguments"
  },
  {
    "name": "test_prompt_with_arguments", "title": "Prompt With Arguments",
    "description": "A prompt with required arguments",
    "arguments": [
      {"name": "arg1", "description": "First test argument", "required": true},
      {"name": "arg2", "description": "Second test argument", "required": true}
    ]
  },
  {
    "name": "test_prompt_with_embedded_resource", "title": "Prompt With Embedded Resource",
    "description": "A prompt that includes an embedded resource",
    "arguments": [
      {"name": "resourceUri", "description": "URI of the resource to embed", "required": true}
    ]
  },
  {
    "name": "test_prompt_with_image", "title": "Prompt With Image",
    "description": "A prompt that includes image content"
  },
  {
    "name": "test_input_required_result_prompt",
    "description": "A prompt that asks for input first"
  }
])json";

inline constexpr const char* kCapabilities = R"json({
  "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
  "prompts": {"listChanged": true}, "logging": {}, "completions": {}})json";
inline constexpr const char* kResponseSchema = R"json({
  "type": "object", "required": ["response"],
  "properties": {"response": {"type": "string", "description": "User's response"}}})json";

}  // namespace paddock::mcp::fixture
