/* SPDX-License-Identifier: Apache-2.0 */
#include "site/openapi-schemas.h"

#include <string.h>

#define JSON      "application/json"
#define TEXT      "text/plain"
#define TARGET    "/api/v1/targets/{target}"
#define REPORT    "application/octet-stream,text/plain,text/html,image/svg+xml,text/vnd.graphviz," JSON
#define DOWNLOADS "application/octet-stream"

/* The first matching row is used. */
static const OpenapiAnswer answers[] = {
    {NULL, "/", "getPage", 200, "text/html", NULL},
    {NULL, "/healthz", "getHealth", 200, TEXT, NULL},
    {NULL, "/api/v1", "listEndpoints", 200, JSON, "Index"},
    {NULL, "/api/v1/targets", "listTargets", 200, JSON, "Targets"},
    {NULL, "/api/v1/rules", "listRules", 200, JSON, "Rules"},
    {NULL, TARGET "/series", "getSeries", 200, JSON ",text/csv,application/openmetrics-text,text/plain,image/svg+xml",
     NULL},
    {"GET", "/api/v1/session", "getSession", 200, JSON, "Session"},
    {"POST", "/api/v1/session", "signIn", 201, JSON, "Session"},
    {"DELETE", "/api/v1/session", "signOut", 200, JSON, "Session"},
    {NULL, "/api/v1/events", "streamEvents", 200, "text/event-stream", NULL},
    {NULL, "/api/v1/sd", "listScrapeTargets", 200, JSON, "ScrapeTargets"},
    {NULL, "/api/v1/openapi.json", "getDescription", 200, JSON, NULL},
    {NULL, "/metrics", "getMetrics", 200, "text/plain,application/openmetrics-text", NULL},
    {NULL, TARGET, "getTarget", 200, JSON, "Target"},
    {"GET", TARGET "/profiling", "getProfiling", 200, JSON, "Profiling"},
    {"PUT", TARGET "/profiling", "setProfiling", 200, JSON, "Profiling"},
    {"POST", TARGET "/profiling", "switchProfiling", 200, JSON, "Profiling"},
    {"PUT", TARGET "/profiling/leases/{lease}", "renewLease", 200, JSON, "Profiling"},
    {"POST", TARGET "/profiling/leases/{lease}", "extendLease", 200, JSON, "Profiling"},
    {"DELETE", TARGET "/profiling/leases/{lease}", "endLease", 200, JSON, "Profiling"},
    {NULL, TARGET "/reset", "resetProfile", 200, JSON, "Profiling"},
    {NULL, TARGET "/purge", "purgePages", 200, JSON, "Returned"},
    {"GET", TARGET "/decay", "getDecay", 200, JSON, "Decay"},
    {"PUT", TARGET "/decay", "setDecay", 200, JSON, "Decay"},
    {"POST", TARGET "/decay", "runDecay", 200, JSON, "Returned"},
    {"GET", TARGET "/background-thread", "getBackgroundThreads", 200, JSON, "BackgroundThreads"},
    {"PUT", TARGET "/background-thread", "setBackgroundThreads", 200, JSON, "BackgroundThreads"},
    {"POST", TARGET "/background-thread", "switchBackgroundThreads", 200, JSON, "BackgroundThreads"},
    {"GET", TARGET "/controls/{control}", "getControl", 200, JSON, "Control"},
    {"PUT", TARGET "/controls/{control}", "setControl", 200, JSON, "Control"},
    {"POST", TARGET "/controls/{control}", "runControl", 200, JSON, "Control"},
    {"GET", TARGET "/recordings", "listRecordings", 200, JSON, "Recordings"},
    {"POST", TARGET "/recordings", "startRecording", 201, JSON, "Recording"},
    {"GET", TARGET "/recordings/{recording}", "getRecording", 200, JSON, "Recording"},
    {"DELETE", TARGET "/recordings/{recording}", "endRecording", 200, JSON, "Recording"},
    {NULL, TARGET "/recordings/{recording}/stop", "stopRecording", 200, JSON, "Recording"},
    {NULL, TARGET "/recordings/{recording}/result", "getRecordingResult", 200, REPORT, NULL},
    {"GET", "/api/v1/files", "listFiles", 200, JSON, NULL},
    {"POST", "/api/v1/files", "sendFile", 201, JSON, "File"},
    {"GET", "/api/v1/files/{file}", "getFile", 200, JSON, "File"},
    {"DELETE", "/api/v1/files/{file}", "forgetFile", 200, JSON, NULL},
    {NULL, "/api/v1/files/{file}/keep", "keepFile", 200, JSON, "File"},
    {NULL, "/api/v1/files/{file}/dump", "getFileDump", 200, REPORT, NULL},
    {"GET", TARGET "/dumps", "listDumps", 200, JSON, "Dumps"},
    {"POST", TARGET "/dumps", "takeDump", 201, JSON, "Dump"},
    {NULL, TARGET "/dumps/{dump}", "getDump", 200, REPORT, NULL},
    {NULL, TARGET "/statistics", "getStatistics", 200, JSON "," TEXT, NULL},
    {NULL, TARGET "/ledger", "getLedger", 200, JSON, "Ledger"},
    {NULL, TARGET "/doctor", "examineTarget", 200, JSON, "Examination"},
    {NULL, TARGET "/growth", "getGrowth", 200, JSON, "Growth"},
    {NULL, "/api/v1/blackbox", "listEnds", 200, JSON, NULL},
    {NULL, "/api/v1/blackbox/{process}", "getEnd", 200, JSON, NULL},
    {NULL, "/api/v1/blackbox/{process}/dumps/{dump}", "getEndDump", 200, REPORT, NULL},
    {NULL, "/api/v1/fleet", "hasFleet", 200, JSON, NULL},
    {NULL, "/api/v1/fleet/services", "listServices", 200, JSON, NULL},
    {NULL, "/api/v1/fleet/top", "rankServices", 200, JSON, NULL},
    {NULL, "/api/v1/fleet/report", "getServiceReport", 200, REPORT, NULL},
    {NULL, "/api/v1/fleet/diff", "compareService", 200, REPORT, NULL},
    {NULL, "/api/v1/fleet/growth", "getServiceGrowth", 200, JSON, "Growth"},
    {NULL, "/api/v1/fleet/hosts", "listServiceHosts", 200, JSON, NULL},
    {NULL, "/api/v1/fleet/trace", "traceFunction", 200, JSON, NULL},
    {NULL, "/debug/pprof/symbol", NULL, 200, TEXT, NULL},
    {NULL, "/pprof/symbol", NULL, 200, TEXT, NULL},
    {NULL, "/debug/pprof/cmdline", NULL, 200, TEXT, NULL},
    {NULL, "/pprof/cmdline", NULL, 200, TEXT, NULL},
    {NULL, "/debug/pprof", "listProfiles", 200, "text/html,text/plain", NULL},
    {NULL, "/mtev/heap_profile", NULL, 200, TEXT ",application/x-jemalloc-heap-profile", NULL},
    {NULL, "/mtev/memory.json", NULL, 200, JSON, NULL},
    {NULL, "/eventer/memory.json", NULL, 200, JSON, NULL},
    {NULL, "/help/memory-profiler", NULL, 200, TEXT, NULL},
    {NULL, "/memory-profiler/download/raw", NULL, 200, DOWNLOADS, NULL},
    {NULL, "/memory-profiler/download/text", NULL, 200, DOWNLOADS, NULL},
    {NULL, "/memory-profiler/download/graph", NULL, 200, DOWNLOADS, NULL},
    {NULL, "/memory-profiler/start", NULL, 200, JSON, NULL},
    {NULL, "/memory-profiler/stop", NULL, 200, JSON, NULL},
    {NULL, "/memory-profiler/state", NULL, 200, JSON, NULL},
    {NULL, "/memory-profiler/statistics", NULL, 200, JSON, NULL},
};

const OpenapiAnswer *
openapi_answer_of(const OpenapiOperation *operation)
{
    static const OpenapiAnswer document = {NULL, NULL, NULL, 200, JSON, NULL};
    static const OpenapiAnswer bytes = {NULL, NULL, NULL, 200, DOWNLOADS, NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
        if (strcmp(answers[i].path, operation->path) == 0 &&
            (answers[i].method == NULL || strcmp(answers[i].method, operation->method) == 0))
            return &answers[i];
    return g_str_has_prefix(operation->path, "/api/") ? &document : &bytes;
}

/* clang-format off */
#define ID "{\"type\":\"integer\",\"minimum\":1}"
#define SECONDS "{\"type\":\"number\",\"description\":\"seconds\"}"
#define TIME "{\"type\":\"number\",\"description\":\"seconds since 1970\"}"
#define TIME_OR_NULL "{\"type\":\"number\",\"nullable\":true,\"description\":\"seconds since 1970\"}"
#define BYTES "{\"type\":\"integer\",\"minimum\":0,\"description\":\"bytes\"}"
#define WORD "{\"type\":\"string\"}"
#define WORD_OR_NULL "{\"type\":\"string\",\"nullable\":true}"
#define BYTES_OR_NULL "{\"type\":\"integer\",\"minimum\":0,\"nullable\":true,\"description\":\"bytes\"}"
#define SECONDS_OR_NULL "{\"type\":\"number\",\"nullable\":true,\"description\":\"seconds\"}"
#define FLAG "{\"type\":\"boolean\"}"
#define WORDS "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define RATE "{\"type\":\"number\",\"nullable\":true,\"description\":\"bytes per second\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define LIST_OF(name, schema) "{\"type\":\"object\",\"required\":[\"" name "\"],\"properties\":{\"" name "\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/" schema "\"}}}}"

const char openapi_schemas[] = "{\"Failure\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"object\",\"required\":[\"code\",\"message\"],\"properties\":{\"code\":" WORD ",\"message\":" WORD ",\"hint\":" WORD "},\"additionalProperties\":false}},\"additionalProperties\":false},\"Index\":{\"type\":\"object\",\"required\":[\"name\",\"version\",\"paths\"],\"properties\":{\"name\":" WORD ",\"version\":" WORD ",\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"methods\",\"path\",\"summary\"],\"properties\":{\"methods\":" WORD ",\"path\":" WORD ",\"summary\":" WORD "}}}}},\"Targets\":" LIST_OF("targets", "Target") ",\"Session\":{\"type\":\"object\",\"required\":[\"role\",\"name\",\"tokens\",\"session\",\"remaining_seconds\"],\"properties\":{\"role\":{\"type\":\"string\",\"enum\":[\"none\",\"read\",\"control\"]},\"name\":" WORD_OR_NULL ",\"tokens\":" FLAG ",\"session\":" FLAG ",\"remaining_seconds\":" SECONDS_OR_NULL "},\"additionalProperties\":false},\"ScrapeTargets\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"targets\",\"labels\"],\"properties\":{\"targets\":{\"type\":\"array\",\"items\":" WORD "},\"labels\":{\"type\":\"object\",\"additionalProperties\":" WORD "}}}},\"Target\":{\"type\":\"object\",\"required\":[\"id\",\"unique\",\"pid\",\"name\",\"uid\",\"user\",\"arguments\",\"control_group\",\"series\",\"state\",\"reach\",\"started\",\"trouble\",\"left_alone\",\"url\",\"agent\",\"jemalloc\",\"profiling\",\"recording\",\"sample\",\"notice\"],\"properties\":{\"id\":" WORD ",\"unique\":" WORD_OR_NULL ",\"pid\":" NUMBER ",\"name\":" WORD ",\"uid\":" NUMBER ",\"user\":" WORD_OR_NULL ",\"arguments\":" WORD_OR_NULL ",\"control_group\":" WORD_OR_NULL ",\"series\":" WORD_OR_NULL ",\"state\":{\"type\":\"string\",\"enum\":[\"live\",\"gone\",null],\"nullable\":true},\"reach\":" WORD_OR_NULL ",\"started\":" TIME_OR_NULL ",\"trouble\":" WORD_OR_NULL ",\"left_alone\":" SECONDS_OR_NULL ",\"url\":" WORD_OR_NULL ",\"agent\":{\"type\":\"object\",\"nullable\":true,\"required\":[\"version\",\"clients\"],\"properties\":{\"version\":" WORD ",\"clients\":" NUMBER "},\"additionalProperties\":false},\"jemalloc\":{\"type\":\"object\",\"nullable\":true,\"required\":[\"version\",\"prefix\",\"found_in\",\"serves_malloc\",\"config_prof\",\"config_stats\",\"opt_prof\"],\"properties\":{\"version\":" WORD ",\"prefix\":" WORD ",\"found_in\":" WORD ",\"serves_malloc\":" FLAG ",\"config_prof\":" FLAG ",\"config_stats\":" FLAG ",\"opt_prof\":" FLAG "},\"additionalProperties\":false},\"profiling\":{\"type\":\"object\",\"nullable\":true,\"allOf\":[{\"$ref\":\"#/components/schemas/Profiling\"}]},\"recording\":{\"type\":\"object\",\"nullable\":true,\"allOf\":[{\"$ref\":\"#/components/schemas/Recording\"}]},\"sample\":{\"type\":\"object\",\"nullable\":true,\"required\":[\"time\",\"held\",\"allocated\",\"active\",\"metadata\",\"resident\",\"mapped\",\"retained\",\"rss\",\"anonymous\",\"outside\"],\"properties\":{\"time\":" TIME ",\"held\":" BYTES_OR_NULL ",\"allocated\":" BYTES_OR_NULL ",\"active\":" BYTES_OR_NULL ",\"metadata\":" BYTES_OR_NULL ",\"resident\":" BYTES_OR_NULL ",\"mapped\":" BYTES_OR_NULL ",\"retained\":" BYTES_OR_NULL ",\"rss\":" BYTES_OR_NULL ",\"anonymous\":" BYTES_OR_NULL ",\"outside\":" BYTES_OR_NULL "},\"additionalProperties\":false},\"notice\":" WORD_OR_NULL "},\"additionalProperties\":false},\"Lease\":{\"type\":\"object\",\"required\":[\"id\",\"remaining_seconds\",\"active\",\"restores\",\"restores_sample_bytes\"],\"properties\":{\"id\":" ID ",\"remaining_seconds\":" SECONDS ",\"active\":" FLAG ",\"restores\":" FLAG ",\"restores_sample_bytes\":{\"type\":\"integer\",\"nullable\":true,\"description\":\"bytes\"}},\"additionalProperties\":false},\"Profiling\":{\"type\":\"object\",\"required\":[\"available\",\"obstacle\",\"sampler\",\"sampler_reason\",\"sampler_figures\",\"active\",\"since\",\"active_since\",\"reset_at\",\"sample_bytes\",\"new_threads_sampled\",\"lease\"],\"properties\":{\"available\":" FLAG ",\"obstacle\":" WORD_OR_NULL ",\"sampler\":" WORD_OR_NULL ",\"sampler_reason\":" WORD_OR_NULL ",\"sampler_figures\":{\"type\":\"object\",\"nullable\":true,\"required\":[\"period_bytes\",\"doublings\",\"lost\",\"lost_bytes\",\"without_stack\"],\"properties\":{\"period_bytes\":" BYTES ",\"doublings\":" NUMBER ",\"lost\":" NUMBER ",\"lost_bytes\":" BYTES ",\"without_stack\":" NUMBER "},\"additionalProperties\":false},\"new_threads_sampled\":{\"type\":\"boolean\",\"nullable\":true},\"active\":" FLAG ",\"since\":{\"type\":\"string\",\"nullable\":true},\"active_since\":" TIME_OR_NULL ",\"reset_at\":" TIME_OR_NULL ",\"sample_bytes\":{\"type\":\"integer\",\"nullable\":true},\"lease\":{\"type\":\"object\",\"nullable\":true,\"allOf\":[{\"$ref\":\"#/components/schemas/Lease\"}]}}},\"Returned\":{\"type\":\"object\",\"required\":[\"resident_before\",\"resident_after\"],\"properties\":{\"resident_before\":" BYTES ",\"resident_after\":" BYTES "},\"additionalProperties\":false},\"Decay\":{\"type\":\"object\",\"required\":[\"dirty_ms\",\"muzzy_ms\"],\"properties\":{\"dirty_ms\":" NUMBER ",\"muzzy_ms\":{\"type\":\"integer\",\"nullable\":true}},\"additionalProperties\":false},\"BackgroundThreads\":{\"type\":\"object\",\"required\":[\"enabled\",\"max\"],\"properties\":{\"enabled\":" FLAG ",\"max\":{\"type\":\"integer\",\"nullable\":true}},\"additionalProperties\":false},\"Control\":{\"type\":\"object\",\"required\":[\"control\",\"type\"],\"properties\":{\"control\":" WORD ",\"type\":" WORD ",\"value\":{}}},\"Recording\":{\"type\":\"object\",\"required\":[\"id\",\"state\",\"begin\",\"duration_seconds\",\"remaining_seconds\",\"dump\",\"why\"],\"properties\":{\"id\":" ID ",\"state\":{\"type\":\"string\",\"enum\":[\"running\",\"done\",\"dropped\",\"failed\"]},\"begin\":" TIME ",\"duration_seconds\":" SECONDS ",\"remaining_seconds\":" SECONDS ",\"dump\":{\"type\":\"integer\",\"nullable\":true},\"why\":{\"type\":\"string\",\"nullable\":true}},\"additionalProperties\":false},\"Recordings\":" LIST_OF("recordings", "Recording") ",\"Dump\":{\"type\":\"object\",\"required\":[\"id\",\"taken\",\"bytes\",\"recording\"],\"properties\":{\"id\":" ID ",\"taken\":" TIME ",\"bytes\":" BYTES ",\"recording\":{\"type\":\"integer\",\"nullable\":true}},\"additionalProperties\":false},\"Dumps\":" LIST_OF("dumps", "Dump")
    ",\"File\":{\"type\":\"object\",\"required\":[\"id\",\"name\",\"bytes\",\"sent\",\"kept\",\"idle_seconds\"],\"properties\":{\"id\":" WORD ",\"name\":" WORD ",\"bytes\":" BYTES ",\"sent\":" SECONDS ",\"kept\":" FLAG ",\"idle_seconds\":" SECONDS_OR_NULL "},\"additionalProperties\":false}"
    ",\"Ledger\":{\"type\":\"object\",\"required\":[\"target\",\"time\",\"notice\",\"method\",\"skew_seconds\",\"attempts\",\"complete\",\"rss\",\"tolerance\",\"group\",\"lines\",\"classes\"],\"properties\":{\"target\":" WORD ",\"time\":{\"type\":\"string\",\"format\":\"date-time\"},\"notice\":" WORD_OR_NULL ",\"method\":{\"type\":\"string\",\"enum\":[\"nothing\",\"flag\",\"subtraction\"]},\"skew_seconds\":" SECONDS ",\"attempts\":" NUMBER ",\"complete\":" FLAG ",\"rss\":" BYTES ",\"tolerance\":" BYTES ",\"group\":" BYTES_OR_NULL ",\"lines\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"line\",\"level\",\"bytes\",\"low\",\"high\"],\"properties\":{\"line\":" WORD ",\"level\":{\"type\":\"string\",\"enum\":[\"rss\",\"own\",\"group\",\"sharing\"]},\"bytes\":" NUMBER ",\"low\":" NUMBER ",\"high\":" NUMBER "},\"additionalProperties\":false}},\"classes\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"size\",\"holes\",\"live\"],\"properties\":{\"size\":" BYTES ",\"holes\":" BYTES ",\"live\":" BYTES "},\"additionalProperties\":false}}},\"additionalProperties\":false},\"Examination\":{\"type\":\"object\",\"required\":[\"format\",\"version\",\"source\",\"findings\",\"healthy\",\"watched_seconds\",\"detectable_bytes_per_second\",\"notes\",\"ledger\"],\"properties\":{\"format\":" WORD ",\"version\":" NUMBER ",\"source\":" WORD ",\"findings\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Finding\"}},\"healthy\":" FLAG ",\"watched_seconds\":" SECONDS ",\"detectable_bytes_per_second\":" RATE ",\"notes\":" WORDS ",\"ledger\":{\"type\":\"object\",\"nullable\":true,\"description\":\"bytes by the names of lines\",\"additionalProperties\":" NUMBER "}},\"additionalProperties\":false},\"Finding\":{\"type\":\"object\",\"required\":[\"cause\",\"finding\",\"function\",\"functions\",\"bytes\",\"bytes_per_second\",\"bytes_per_second_low\",\"bytes_per_second_high\",\"onset_seconds\",\"hours_to_limit\",\"confidence\",\"evidence\",\"against\",\"advice\",\"gives_back_bytes\"],\"properties\":{\"cause\":" WORD ",\"finding\":" WORD ",\"function\":" WORD_OR_NULL ",\"functions\":" WORDS ",\"bytes\":" BYTES ",\"bytes_per_second\":" RATE ",\"bytes_per_second_low\":" RATE ",\"bytes_per_second_high\":" RATE ",\"onset_seconds\":" SECONDS_OR_NULL ",\"hours_to_limit\":{\"type\":\"number\",\"nullable\":true},\"confidence\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},\"evidence\":" WORDS ",\"against\":" WORDS ",\"advice\":" WORD ",\"gives_back_bytes\":" BYTES "},\"additionalProperties\":false},\"Rules\":{\"type\":\"object\",\"required\":[\"rules\",\"problems\"],\"properties\":{\"rules\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"rule\",\"place\",\"series\",\"state\",\"reason\",\"why\",\"fired\",\"fired_ago\"],\"properties\":{\"rule\":" WORD ",\"place\":" WORD ",\"series\":" WORD ",\"state\":{\"type\":\"string\",\"enum\":[\"armed\",\"holding\",\"cooling\"]},\"reason\":" WORD ",\"why\":" WORD ",\"fired\":" NUMBER ",\"fired_ago\":" SECONDS_OR_NULL "},\"additionalProperties\":false}},\"problems\":" WORDS "},\"additionalProperties\":false},\"Growth\":{\"type\":\"object\",\"required\":[\"format\",\"version\",\"value\",\"by\",\"slope_per\",\"dumps\",\"notes\",\"total\",\"culprits\",\"functions\",\"stacks\"],\"properties\":{\"format\":" WORD ",\"version\":" NUMBER ",\"value\":" WORD ",\"by\":" WORD ",\"slope_per\":{\"type\":\"string\",\"enum\":[\"second\",\"dump\"]},\"dumps\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"time\"],\"properties\":{\"name\":" WORD ",\"time\":{\"type\":\"number\"}},\"additionalProperties\":false}},\"notes\":" WORDS ",\"total\":{\"type\":\"object\",\"required\":[\"verdict\",\"slope\",\"slope_error\",\"first\",\"last\",\"births\",\"deaths\",\"p\"],\"properties\":{\"verdict\":{\"type\":\"string\",\"enum\":[\"within error\",\"still growing\",\"plateau\",\"one-off\",\"shrinking\",\"filling\"]},\"slope\":{\"type\":\"number\"},\"slope_error\":{\"type\":\"number\"},\"first\":{\"type\":\"number\"},\"last\":{\"type\":\"number\"},\"births\":{\"type\":\"number\",\"nullable\":true},\"deaths\":{\"type\":\"number\",\"nullable\":true},\"p\":{\"type\":\"number\",\"nullable\":true}},\"additionalProperties\":false},\"culprits\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"p\",\"grown\",\"functions\"],\"properties\":{\"p\":{\"type\":\"number\"},\"grown\":{\"type\":\"number\"},\"functions\":" WORDS "},\"additionalProperties\":false}},\"functions\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/GrowthRow\"}},\"stacks\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/GrowthRow\"}}},\"additionalProperties\":false},\"GrowthRow\":{\"type\":\"object\",\"required\":[\"verdict\",\"slope\",\"slope_error\",\"recent_slope\",\"biggest_step\",\"births\",\"deaths\",\"p\",\"series\",\"frames\"],\"properties\":{\"verdict\":{\"type\":\"string\",\"enum\":[\"within error\",\"still growing\",\"plateau\",\"one-off\",\"shrinking\",\"filling\"]},\"slope\":{\"type\":\"number\"},\"slope_error\":{\"type\":\"number\"},\"recent_slope\":{\"type\":\"number\"},\"births\":{\"type\":\"number\",\"nullable\":true},\"deaths\":{\"type\":\"number\",\"nullable\":true},\"p\":{\"type\":\"number\",\"nullable\":true},\"biggest_step\":{\"type\":\"number\"},\"series\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},\"frames\":" WORDS "},\"additionalProperties\":false}}";
