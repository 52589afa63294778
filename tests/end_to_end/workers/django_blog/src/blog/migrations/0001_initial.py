import django.db.models.deletion
from django.db import migrations, models


def key():
    return models.BigAutoField(primary_key=True, serialize=False, auto_created=True)


class Migration(migrations.Migration):
    initial = True
    dependencies = []  # noqa: RUF012
    operations = [  # noqa: RUF012
        migrations.CreateModel(
            name="Author",
            fields=[("id", key()), ("name", models.CharField(max_length=40, unique=True))],
        ),
        migrations.CreateModel(
            name="Tag", fields=[("id", key()), ("word", models.SlugField(unique=True))]
        ),
        migrations.CreateModel(
            name="Post",
            fields=[
                ("id", key()),
                ("title", models.CharField(max_length=80)),
                ("text", models.TextField(blank=True)),
                ("rating", models.FloatField(null=True)),
                ("published", models.BooleanField(default=False)),
                ("created", models.DateTimeField()),
                ("extra", models.JSONField(default=dict)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="posts",
                        to="blog.author",
                    ),
                ),
                ("tags", models.ManyToManyField(related_name="posts", to="blog.tag")),
            ],
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", key()),
                ("text", models.TextField()),
                (
                    "post",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comments",
                        to="blog.post",
                    ),
                ),
            ],
        ),
    ]
