/*
 * What scripts can call beside PHP's own functions: those of mod_php, by which they ask the server
 * (sapi/apache2handler/php_functions.c of PHP's sources), and fastcgi_finish_request() of PHP-FPM.
 * Also what phpinfo() shows of the server.
 */
#include "module.h"

#include "ext/standard/head.h"
#include "ext/standard/info.h"
#include "php_ini.h"
#include "php_main.h"
#include "php_output.h"

/* Each script needs some of the stack: as many as LimitInternalRecursion of httpd permits. */
#define DEPTH_MAX 10

struct php_switches php_switches;

/* Whether the server has refused; a warning tells the script. */
static bool is_refused(const struct border_reply *reply, const char *url, const char *why)
{
    if (reply->status == 200) {
        return false;
    }
    php_error_docref(NULL, E_WARNING, "Unable to include '%s' - %s", url, why);
    return true;
}

static void *copied(struct border_text text)
{
    return estrndup(text.at == NULL ? "" : text.at, text.length);
}

/* Run a script in the middle of this one, with variables of its own: $_SERVER is made of them if
 * the first script has not asked for it (sapi/apache2handler does the same). The answer is copied,
 * as the script may ask the server anything. */
static void run_included(const struct border_reply *script)
{
    struct script_run *run = current_run();
    const struct border_pair *outer = run->variables;
    size_t outer_count = run->variables_count, count = script->pairs_count;
    struct border_pair *own = safe_emalloc(count + 1, sizeof(*own), 0);
    for (size_t nth = 0; nth < count; nth++) {
        const struct border_pair *pair = &script->pairs[nth];
        own[nth].name = text_of(copied(pair->name), pair->name.length);
        own[nth].value = text_of(copied(pair->value), pair->value.length);
    }
    zend_string *name = zend_string_init(script->text.at, script->text.length, 0);
    run->variables = own;
    run->variables_count = count;
    run->depth++;
    zend_file_handle file;
    zend_stream_init_filename_ex(&file, name);
    zend_execute_scripts(ZEND_INCLUDE, NULL, 1, &file);
    zend_destroy_file_handle(&file);
    zend_string_release(name);
    run->depth--;
    run->variables = outer;
    run->variables_count = outer_count;
    for (size_t nth = 0; nth < count; nth++) {
        efree((void *) own[nth].name.at);
        efree((void *) own[nth].value.at);
    }
    efree(own);
}

PHP_FUNCTION(virtual)
{
    char *url;
    size_t length;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "p", &url, &length) == FAILURE) {
        RETURN_THROWS();
    }
    struct border_reply found = ask_for(BORDER_LOOK_UP, url, length);
    if (current_run() != NULL && current_run()->depth >= DEPTH_MAX) {
        found.status = 500;
    }
    if (is_refused(&found, url, "error finding URI")) {
        RETURN_FALSE;
    }
    php_output_end_all();
    php_header();
    struct border_reply included = ask_for(BORDER_INCLUDE, url, length);
    if (is_refused(&included, url, "request execution failed")) {
        RETURN_FALSE;
    }
    if (included.text.at != NULL) {
        run_included(&included);
    }
    RETURN_TRUE;
}

static void add_pairs(zval *to, const struct border_reply *reply)
{
    for (size_t nth = 0; nth < reply->pairs_count; nth++) {
        const struct border_pair *pair = &reply->pairs[nth];
        add_assoc_stringl_ex(to, pair->name.at, pair->name.length, pair->value.at,
                             pair->value.length);
    }
}

PHP_FUNCTION(apache_lookup_uri)
{
    char *url;
    size_t length;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "p", &url, &length) == FAILURE) {
        RETURN_THROWS();
    }
    struct border_reply reply = ask_for(BORDER_LOOK_UP, url, length);
    if (is_refused(&reply, url, "error finding URI")) {
        RETURN_FALSE;
    }
    object_init(return_value);
    for (size_t nth = 0; nth < reply.pairs_count; nth++) {
        const struct border_pair *pair = &reply.pairs[nth];
        /* Numbers begin with their sign, so that no text looks like one. */
        if (pair->value.at[0] == '#') {
            add_property_long(return_value, pair->name.at, atoll(pair->value.at + 1));
        } else {
            add_property_string(return_value, pair->name.at, pair->value.at + 1);
        }
    }
}

static void return_pairs(zval *return_value, uint32_t question)
{
    struct border_reply reply = ask_for(question, NULL, 0);
    array_init(return_value);
    add_pairs(return_value, &reply);
}

PHP_FUNCTION(apache_request_headers)
{
    ZEND_PARSE_PARAMETERS_NONE();
    return_pairs(return_value, BORDER_REQUEST_FIELDS);
}

PHP_FUNCTION(apache_response_headers)
{
    ZEND_PARSE_PARAMETERS_NONE();
    return_pairs(return_value, BORDER_RESPONSE_FIELDS);
}

static void return_text(zval *return_value, struct border_text text)
{
    if (text.at == NULL) {
        RETURN_FALSE;
    }
    RETURN_STRINGL(text.at, text.length);
}

PHP_FUNCTION(apache_note)
{
    char *name, *value = NULL;
    size_t name_length, value_length;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "s|s!", &name, &name_length, &value, &value_length)
        == FAILURE) {
        RETURN_THROWS();
    }
    return_text(return_value, ask_for(BORDER_GET_NOTE, name, name_length).text);
    if (value != NULL) {
        ask(BORDER_SET_NOTE, text_of(name, name_length), text_of(value, value_length));
    }
}

/* The third argument would change the variable for the request that this one is a part of; both
 * have the same variables here. */
PHP_FUNCTION(apache_setenv)
{
    char *name, *value;
    size_t name_length, value_length;
    bool walk_to_top = false;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "ss|b", &name, &name_length, &value, &value_length,
                              &walk_to_top) == FAILURE) {
        RETURN_THROWS();
    }
    ask(BORDER_SET_VARIABLE, text_of(name, name_length), text_of(value, value_length));
    RETURN_TRUE;
}

PHP_FUNCTION(apache_getenv)
{
    char *name;
    size_t length;
    bool walk_to_top = false;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "s|b", &name, &length, &walk_to_top) == FAILURE) {
        RETURN_THROWS();
    }
    return_text(return_value, ask_for(BORDER_GET_VARIABLE, name, length).text);
}

PHP_FUNCTION(apache_get_version)
{
    ZEND_PARSE_PARAMETERS_NONE();
    return_text(return_value, ask_for(BORDER_SERVER, NULL, 0).text);
}

PHP_FUNCTION(apache_get_modules)
{
    ZEND_PARSE_PARAMETERS_NONE();
    struct border_reply reply = ask_for(BORDER_MODULES, NULL, 0);
    array_init(return_value);
    for (size_t nth = 0; nth < reply.pairs_count; nth++) {
        struct border_text name = reply.pairs[nth].name;
        add_next_index_stringl(return_value, name.at, name.length);
    }
}

PHP_FUNCTION(fastcgi_finish_request)
{
    ZEND_PARSE_PARAMETERS_NONE();
    php_output_end_all();
    php_header();
    struct border_reply reply = ask_for(BORDER_FINISH, NULL, 0);
    RETURN_BOOL(reply.status == 200);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(for_lookup_uri, 0, 1, MAY_BE_OBJECT | MAY_BE_FALSE)
    ZEND_ARG_TYPE_INFO(0, filename, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(for_virtual, 0, 1, _IS_BOOL, 0)
    ZEND_ARG_TYPE_INFO(0, uri, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(for_array, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(for_note, 0, 1, MAY_BE_STRING | MAY_BE_FALSE)
    ZEND_ARG_TYPE_INFO(0, note_name, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, note_value, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(for_setenv, 0, 2, _IS_BOOL, 0)
    ZEND_ARG_TYPE_INFO(0, variable, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, value, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, walk_to_top, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(for_getenv, 0, 1, MAY_BE_STRING | MAY_BE_FALSE)
    ZEND_ARG_TYPE_INFO(0, variable, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, walk_to_top, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(for_get_version, 0, 0, MAY_BE_STRING | MAY_BE_FALSE)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(for_finish, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    PHP_FE(apache_lookup_uri, for_lookup_uri)
    PHP_FE(virtual, for_virtual)
    PHP_FE(apache_request_headers, for_array)
    PHP_FALIAS(getallheaders, apache_request_headers, for_array)
    PHP_FE(apache_response_headers, for_array)
    PHP_FE(apache_note, for_note)
    PHP_FE(apache_setenv, for_setenv)
    PHP_FE(apache_getenv, for_getenv)
    PHP_FE(apache_get_version, for_get_version)
    PHP_FE(apache_get_modules, for_array)
    PHP_FE(fastcgi_finish_request, for_finish)
    PHP_FE_END
};

static void show_rows(uint32_t question)
{
    struct border_reply reply = ask_for(question, NULL, 0);
    for (size_t nth = 0; nth < reply.pairs_count; nth++) {
        const struct border_pair *pair = &reply.pairs[nth];
        php_info_print_table_row(2, pair->name.at, pair->value.at);
    }
}

PHP_MINFO_FUNCTION(apache)
{
    php_info_print_table_start();
    show_rows(BORDER_SERVER);
    php_info_print_table_end();
    DISPLAY_INI_ENTRIES();
    php_info_print_table_start();
    php_info_print_table_colspan_header(2, "Apache Environment");
    php_info_print_table_header(2, "Variable", "Value");
    show_rows(BORDER_VARIABLES);
    php_info_print_table_end();
    php_info_print_table_start();
    php_info_print_table_colspan_header(2, "HTTP Headers Information");
    php_info_print_table_colspan_header(2, "HTTP Request Headers");
    show_rows(BORDER_REQUEST_FIELDS);
    php_info_print_table_colspan_header(2, "HTTP Response Headers");
    show_rows(BORDER_RESPONSE_FIELDS);
    php_info_print_table_end();
}

PHP_INI_BEGIN()
    STD_PHP_INI_BOOLEAN("xbithack", "0", PHP_INI_ALL, OnUpdateBool, xbithack,
                        struct php_switches, php_switches)
    STD_PHP_INI_BOOLEAN("engine", "1", PHP_INI_ALL, OnUpdateBool, engine, struct php_switches,
                        php_switches)
    STD_PHP_INI_BOOLEAN("last_modified", "0", PHP_INI_ALL, OnUpdateBool, last_modified,
                        struct php_switches, php_switches)
PHP_INI_END()

static PHP_MINIT_FUNCTION(apache)
{
    REGISTER_INI_ENTRIES();
    return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(apache)
{
    UNREGISTER_INI_ENTRIES();
    return SUCCESS;
}

zend_module_entry trivet_functions = {
    STANDARD_MODULE_HEADER,
    "apache2handler",
    functions,
    PHP_MINIT(apache),
    PHP_MSHUTDOWN(apache),
    NULL,
    NULL,
    PHP_MINFO(apache),
    PHP_VERSION,
    STANDARD_MODULE_PROPERTIES
};
