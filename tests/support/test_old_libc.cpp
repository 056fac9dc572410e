// What src/support/old_libc*.c puts in the place of functions of newer C libraries does the same:
// programs start, exceptions find their way, files are looked at.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

extern "C" {
#include <cmocka.h>
}

#include <cerrno>
#include <cmath>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace {
struct Constructed {
    std::string text = "constructed";
};
Constructed before_main;

void programs_are_constructed(void **) {
    assert_string_equal(before_main.text.c_str(), "constructed");
}

__attribute__((noinline)) void throw_below(int depth) {
    std::string on_the_way(100, 'x');
    if (!depth)
        throw std::runtime_error("thrown");
    throw_below(depth - 1);
    assert_int_equal(on_the_way.size(), 100);
}

// From a function of this program, through frames with destructors, on another thread, too.
void exceptions_are_caught(void **) {
    int caught = 0;
    auto attempt = [&] {
        try {
            throw_below(10);
        } catch (const std::exception &error) {
            caught += error.what() == std::string("thrown");
        }
    };
    attempt();
    std::thread(attempt).join();
    assert_int_equal(caught, 2);
}

void files_are_looked_at(void **) {
    struct stat folder, same, missing;
    assert_int_equal(stat("/", &folder), 0);
    assert_true(S_ISDIR(folder.st_mode));
    assert_int_equal(lstat("/proc/self", &same), 0);
    assert_true(S_ISLNK(same.st_mode));
    int file = open("/", O_RDONLY | O_DIRECTORY);
    assert_int_equal(fstat(file, &same), 0);
    assert_int_equal(same.st_ino, folder.st_ino);
    assert_int_equal(fstatat(file, ".", &same, 0), 0);
    assert_int_equal(same.st_ino, folder.st_ino);
    assert_int_equal(same.st_mode, folder.st_mode);
    close(file);
    errno = 0;
    assert_int_equal(stat("/does/not/exist", &missing), -1);
    assert_int_equal(errno, ENOENT);
}

void libraries_are_loaded(void **) {
    void *library = dlopen("libm.so.6", RTLD_NOW);
    assert_non_null(library);
    double (*power)(double, double);
    *(void **)&power = dlsym(library, "pow");
    volatile double two = 2;
    assert_true(power(two, 10) == std::pow(two, 10.0));
    assert_int_equal(dlclose(library), 0);
    assert_null(dlopen("/does/not/exist", RTLD_NOW));
    assert_non_null(dlerror());
}
} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_constructed),
        cmocka_unit_test(exceptions_are_caught),
        cmocka_unit_test(files_are_looked_at),
        cmocka_unit_test(libraries_are_loaded),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
