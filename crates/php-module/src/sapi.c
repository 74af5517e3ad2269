/*
 * PHP's view of the server: the functions by which the interpreter writes, reads and asks
 * (SAPI.h), how it is started and stopped, and how a script is run. To scripts this is mod_php
 * (`apache2handler`): opcache and many applications look at that name. What mod_php does here is
 * in sapi/apache2handler/sapi_apache2.c of PHP's sources. What scripts call themselves is in
 * functions.c, and what programs that they start need is in programs.c.
 */
#include "module.h"

#include "ext/standard/basic_functions.h"
#include "ext/standard/php_standard.h"
#include "php_ini.h"
#include "php_main.h"
#include "php_output.h"
#include "php_variables.h"
#include "zend_highlight.h"
#include "zend_ini.h"
#include "zend_signal.h"
#include "zend_stream.h"

#include <stdlib.h>
#include <syslog.h>

#if PHP_VERSION_ID < 80200
#error "PHP 8.2 or newer is needed"
#endif

/* Where messages go while no script runs. */
static void (*log_outside)(int32_t level, struct border_text text);

static size_t write_output(const char *text, size_t length)
{
    struct script_run *run = current_run();
    if (run != NULL) {
        enter_server();
        bool is_taken = run->host->write(run->run, text, length);
        leave_server();
        if (!is_taken) {
            php_handle_aborted_connection();
        }
    }
    return length; /* as in mod_php what nobody takes is gone */
}

static void flush_output(void *context)
{
    struct script_run *run = context;
    if (run == NULL) {
        return;
    }
    sapi_send_headers();
    SG(headers_sent) = 1;
    enter_server();
    bool is_taken = run->host->flush(run->run);
    leave_server();
    if (!is_taken) {
        php_handle_aborted_connection();
    }
}

static size_t read_body(char *to, size_t room)
{
    struct script_run *run = current_run();
    size_t length = 0;
    /* It is asked until there is no more: PHP takes less than it has asked for as the end. */
    while (length < room) {
        size_t more = run->host->read(run->run, to + length, room - length);
        if (more == 0) {
            break;
        }
        length += more;
    }
    return length;
}

static char *read_cookies(void)
{
    return text_or_null(current_run()->request->cookies);
}

static char *get_variable(const char *name, size_t length)
{
    return text_or_null(ask_for(BORDER_GET_VARIABLE, name, length).text);
}

static void register_variable(const char *name, struct border_text value, zval *variables)
{
    char *text = value.at == NULL ? "" : (char *) value.at;
    size_t length;
    if (sapi_module.input_filter(PARSE_SERVER, name, &text, value.length, &length)) {
        php_register_variable_safe(name, text, length, variables);
    }
}

static void register_variables(zval *variables)
{
    struct script_run *run = current_run();
    if (run->variables == run->request->variables) {
        register_variable("PHP_SELF", run->request->path, variables);
    }
    for (size_t nth = 0; nth < run->variables_count; nth++) {
        const struct border_pair *pair = &run->variables[nth];
        register_variable(pair->name.at, pair->value, variables);
    }
}

/* A field "Name: value" of header(): the type is remembered until the head is sent, the rest goes
 * to the server at once. */
static void change_field(struct script_run *run, const char *field, uint32_t change)
{
    const char *colon = strchr(field, ':');
    if (colon == NULL) {
        return;
    }
    const char *value = colon + 1;
    while (*value == ' ') {
        value++;
    }
    size_t length = (size_t) (colon - field);
    if (length == 12 && strncasecmp(field, "content-type", 12) == 0) {
        if (run->content_type != NULL) {
            efree(run->content_type);
        }
        run->content_type = estrdup(value);
        return;
    }
    run->host->field(run->run, change, text_of(field, length), text_of(value, strlen(value)));
}

static int handle_field(sapi_header_struct *field, sapi_header_op_enum op,
                        sapi_headers_struct *fields)
{
    struct script_run *run = current_run();
    struct border_text nothing = { 0 };
    switch (op) {
    case SAPI_HEADER_DELETE:
        run->host->field(run->run, BORDER_FIELD_UNSET,
                         text_of(field->header, strlen(field->header)), nothing);
        return 0;
    case SAPI_HEADER_DELETE_ALL:
        run->host->field(run->run, BORDER_FIELD_UNSET_ALL, nothing, nothing);
        return 0;
    case SAPI_HEADER_ADD:
        change_field(run, field->header, BORDER_FIELD_ADD);
        return SAPI_HEADER_ADD;
    case SAPI_HEADER_REPLACE:
        change_field(run, field->header, BORDER_FIELD_SET);
        return SAPI_HEADER_ADD;
    default:
        return 0;
    }
}

static int send_head(sapi_headers_struct *fields)
{
    struct script_run *run = current_run();
    const char *line = fields->http_status_line;
    if (run->content_type == NULL) {
        run->content_type = sapi_get_default_content_type();
    }
    run->host->head(run->run, (uint32_t) fields->http_response_code,
                    text_of(line, line == NULL ? 0 : strlen(line)),
                    text_of(run->content_type, strlen(run->content_type)));
    efree(run->content_type);
    run->content_type = NULL;
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static void log_message(const char *message, int level)
{
    struct script_run *run = current_run();
    struct border_text text = text_of(message, strlen(message));
    if (run != NULL) {
        enter_server();
        run->host->log(run->run, level, text);
        leave_server();
    } else if (log_outside != NULL) {
        log_outside(level, text);
    }
}

static zend_result get_request_time(double *time_s)
{
    struct script_run *run = current_run();
    if (run == NULL) {
        return FAILURE;
    }
    *time_s = run->request->time_s;
    return SUCCESS;
}

static int start_up(sapi_module_struct *module)
{
    return php_module_startup(module, &trivet_functions);
}

static sapi_module_struct trivet_sapi = {
    .name = "apache2handler",
    .pretty_name = "Trivet",
    .startup = start_up,
    .shutdown = php_module_shutdown_wrapper,
    .ub_write = write_output,
    .flush = flush_output,
    .getenv = get_variable,
    .sapi_error = php_error,
    .header_handler = handle_field,
    .send_headers = send_head,
    .read_post = read_body,
    .read_cookies = read_cookies,
    .register_server_variables = register_variables,
    .log_message = log_message,
    .get_request_time = get_request_time,
};

/* Debian's library for embedding has what only programs of the command line may have: a process
 * that a script forked would go on as a server, with the same connections. mod_php has it not. The
 * extension goes without being shut down, since its handlers are listed elsewhere. */
static void remove_extension(const char *name)
{
    zend_module_entry *extension =
        zend_hash_str_find_ptr(&module_registry, name, strlen(name));
    if (extension == NULL) {
        return;
    }
    if (extension->functions != NULL) {
        zend_unregister_functions(extension->functions, -1, CG(function_table));
    }
    extension->module_started = 0;
    dtor_func_t destructor = module_registry.pDestructor;
    module_registry.pDestructor = NULL;
    zend_hash_str_del(&module_registry, name, strlen(name));
    module_registry.pDestructor = destructor;
}

static int start(const struct border_start *how)
{
    log_outside = how->log;
    /* PHP looks for further files where this variable says, or else where it was compiled to. */
    if (how->scan_folder != NULL && getenv("PHP_INI_SCAN_DIR") == NULL) {
        setenv("PHP_INI_SCAN_DIR", how->scan_folder, 1);
    }
    trivet_sapi.php_ini_path_override =
        how->ini_folder == NULL ? NULL : strdup(how->ini_folder);
    zend_signal_startup();
    sapi_startup(&trivet_sapi);
    int result = trivet_sapi.startup(&trivet_sapi) == SUCCESS ? 0 : -1;
    if (how->scan_folder != NULL) {
        unsetenv("PHP_INI_SCAN_DIR");
    }
    if (result == 0) {
        remove_extension("pcntl");
        guard_programs();
    }
    return result;
}

static void stop(void)
{
    trivet_sapi.shutdown(&trivet_sapi);
    sapi_shutdown();
    free(trivet_sapi.php_ini_path_override);
    trivet_sapi.php_ini_path_override = NULL;
}

static void enter_child(void)
{
    /* Signals are the server's business: eight system calls less for each request. */
    SIGG(reset) = 0;
}

static uint32_t is_on(const char *name)
{
    return zend_ini_long((char *) name, strlen(name), 0) != 0;
}

/* php_value and the like come before the request begins, in the order of the configuration. */
static void apply_settings(const struct border_request *request)
{
    for (size_t nth = 0; nth < request->settings_count; nth++) {
        const struct border_setting *setting = &request->settings[nth];
        zend_string *name = zend_string_init(setting->name.at, setting->name.length, 0);
        zend_alter_ini_entry_chars(
            name, setting->value.at, setting->value.length,
            setting->is_admin ? PHP_INI_SYSTEM : PHP_INI_PERDIR,
            setting->is_of_htaccess ? PHP_INI_STAGE_HTACCESS : PHP_INI_STAGE_ACTIVATE);
        zend_string_release_ex(name, 0);
    }
}

static int begin_request(const struct border_request *request)
{
    SG(sapi_headers).http_response_code = (int) request->status;
    SG(request_info).content_type = request->content_type.at;
    SG(request_info).query_string = text_or_null(request->query);
    SG(request_info).request_method = request->method.at;
    SG(request_info).proto_num = (int) request->protocol;
    SG(request_info).request_uri = text_or_null(request->path);
    SG(request_info).path_translated = text_or_null(request->file);
    SG(request_info).content_length = (zend_long) request->content_length;
    php_handle_auth_data(request->authorization.at);
    if (SG(request_info).auth_user == NULL && request->user.at != NULL) {
        SG(request_info).auth_user = estrdup(request->user.at);
    }
    return php_request_startup();
}

/* PHP 8.3 and newer compare the stack pointer with the limits of the thread's own stack. A script
 * may run on another one, whose guard page ends what goes too deep. */
static void forget_stack_limit(void)
{
#ifdef ZEND_CHECK_STACK_LIMIT
    EG(stack_base) = NULL;
    EG(stack_limit) = NULL;
#endif
}

static void execute(const struct border_request *request)
{
    forget_stack_limit();
    if (request->is_source) {
        zend_syntax_highlighter_ini colours;
        php_get_highlight_struct(&colours);
        highlight_file(request->file.at, &colours);
        return;
    }
    zend_file_handle file;
    zend_stream_init_filename(&file, request->file.at);
    php_execute_script(&file);
    zend_destroy_file_handle(&file);
}

/* A script finds itself in its own folder, where the one before it has been as a rule: the folder
 * is looked at rather than entered and left for each. */
static void enter_folder_of(const char *file)
{
    char now[MAXPATHLEN];
    const char *slash = strrchr(file, '/');
    size_t length = slash == file ? 1 : slash == NULL ? 0 : (size_t) (slash - file);
    if (length == 0 || length >= sizeof(now)) {
        return;
    }
    if (getcwd(now, sizeof(now)) != NULL && strlen(now) == length
        && memcmp(now, file, length) == 0) {
        return;
    }
    memcpy(now, file, length);
    now[length] = '\0';
    int result = chdir(now);
    (void) result; /* as in PHP a script that may not be there stays where it is */
}

static size_t run_script(const struct border_request *request, const struct border_host *host,
                         void *run)
{
    if (SG(server_context) != NULL) {
        return 0; /* one runs already: two would share all that PHP has */
    }
    struct script_run script = {
        .request = request,
        .host = host,
        .run = run,
        .variables = request->variables,
        .variables_count = request->variables_count,
    };
    volatile size_t peak = 0;
    SG(server_context) = &script;
    zend_first_try {
        apply_settings(request);
        if (begin_request(request) == SUCCESS) {
            SG(options) |= SAPI_OPTION_NO_CHDIR;
            enter_folder_of(request->file.at);
            execute(request);
        }
        peak = zend_memory_peak_usage(1);
    } zend_end_try();
    php_request_shutdown(NULL);
    SG(server_context) = NULL;
    return peak;
}

static const struct border_module border = {
    .border = TRIVET_PHP_BORDER,
    .version_id = PHP_VERSION_ID,
    .version = PHP_VERSION,
#ifdef ZTS
    .is_thread_safe = 1,
#endif
    .sizes = sizeof(struct border_text) + sizeof(struct border_pair)
        + sizeof(struct border_setting) + sizeof(struct border_reply)
        + sizeof(struct border_host) + sizeof(struct border_request)
        + sizeof(struct border_start) + sizeof(struct border_module),
    .start = start,
    .stop = stop,
    .enter_child = enter_child,
    .is_on = is_on,
    .run = run_script,
};

const struct border_module *trivet_php_border(void)
{
    return &border;
}
