/* What the figures of a report show. */
#include "inspect/report.h"

Findings findings_make(const Trace *trace, const Profile *profile) {
    (void)trace, (void)profile;
    return (Findings){0};
}
