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

PHP_FUNCTION(virtual)
{
    char *url;
    size_t length;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "p", &url, &length) == FAILURE) {
        RETURN_THROWS();
    }
    struct border_reply found = ask_for(BORDER_LOOK_UP, url, length);
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
        zend_file_handle file;
        zend_string *name = zend_string_init(included.text.at, included.text.length, 0);
        zend_stream_init_filename_ex(&file, name);
        zend_execute_scripts(ZEND_INCLUDE, NULL, 1, &file);
        zend_destroy_file_handle(&file);
        zend_string_release(name);
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

ZEND_BEGIN_ARG_INFO_EX(one_text, 0, 0, 1)
    ZEND_ARG_INFO(0, text)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(two_texts, 0, 0, 2)
    ZEND_ARG_INFO(0, variable)
    ZEND_ARG_INFO(0, value)
    ZEND_ARG_INFO(0, walk_to_top)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(name_of_variable, 0, 0, 1)
    ZEND_ARG_INFO(0, variable)
    ZEND_ARG_INFO(0, walk_to_top)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(name_of_note, 0, 0, 1)
    ZEND_ARG_INFO(0, note_name)
    ZEND_ARG_INFO(0, note_value)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(no_arguments, 0, 0, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    PHP_FE(virtual, one_text)
    PHP_FE(apache_lookup_uri, one_text)
    PHP_FE(apache_request_headers, no_arguments)
    PHP_FALIAS(getallheaders, apache_request_headers, no_arguments)
    PHP_FE(apache_response_headers, no_arguments)
    PHP_FE(apache_note, name_of_note)
    PHP_FE(apache_setenv, two_texts)
    PHP_FE(apache_getenv, name_of_variable)
    PHP_FE(apache_get_version, no_arguments)
    PHP_FE(apache_get_modules, no_arguments)
    PHP_FE(fastcgi_finish_request, no_arguments)
    PHP_FE_END
};

static void show_pairs(const char *title, uint32_t question)
{
    struct border_reply reply = ask_for(question, NULL, 0);
    php_info_print_table_start();
    php_info_print_table_colspan_header(2, (char *) title);
    for (size_t nth = 0; nth < reply.pairs_count; nth++) {
        const struct border_pair *pair = &reply.pairs[nth];
        php_info_print_table_row(2, pair->name.at, pair->value.at);
    }
    php_info_print_table_end();
}

PHP_MINFO_FUNCTION(apache)
{
    show_pairs("Server", BORDER_SERVER);
    DISPLAY_INI_ENTRIES();
    show_pairs("Apache Environment", BORDER_VARIABLES);
    show_pairs("HTTP Request Headers", BORDER_REQUEST_FIELDS);
    show_pairs("HTTP Response Headers", BORDER_RESPONSE_FIELDS);
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
