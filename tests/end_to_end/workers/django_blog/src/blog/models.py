from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=40, unique=True)


class Tag(models.Model):
    word = models.SlugField(unique=True)


class Post(models.Model):
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="posts")
    title = models.CharField(max_length=80)
    text = models.TextField(blank=True)
    rating = models.FloatField(null=True)
    published = models.BooleanField(default=False)
    created = models.DateTimeField()
    extra = models.JSONField(default=dict)
    tags = models.ManyToManyField(Tag, related_name="posts")


class Comment(models.Model):
    post = models.ForeignKey(Post, on_delete=models.CASCADE, related_name="comments")
    text = models.TextField()
