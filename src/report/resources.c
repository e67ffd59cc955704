/* SPDX-License-Identifier: Apache-2.0 */
#include "report/resources.h"

#include "report-gresource.h"

void
report_resource_write(Writer *writer, const char *name)
{
    g_autofree char *path = g_strconcat("/jescope/report/", name, NULL);
    g_autoptr(GBytes) bytes =
        g_resource_lookup_data(report_gresource_get_resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    gsize size;
    const void *data;

    g_assert(bytes != NULL);
    data = g_bytes_get_data(bytes, &size);
    writer_data(writer, data, size);
}
